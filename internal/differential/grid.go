package differential

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim"
)

func sortedKeys[K cmp.Ordered, V any](in map[K]V) []K { return slices.Sorted(maps.Keys(in)) }

// Grid counts what pairs were about: kinds of match, filters, and fields of
// policies of the route that the request took.
type Grid struct {
	mu    sync.Mutex
	pairs map[[2]string]int
	seen  [3]map[string]bool
	// unknown is how often a verdict said that it does not know something, by the
	// beginning of what it said, and how often reality was not as the rest of it says.
	unknown map[string]*[2]int
	// decided is how often callers who proved who they are, or were judged without, were let in
	// and were kept out.
	decided map[string]int
}

// NewGrid is empty.
func NewGrid() *Grid {
	return &Grid{pairs: map[[2]string]int{}, seen: [3]map[string]bool{{}, {}, {}}, unknown: map[string]*[2]int{}, decided: map[string]int{}}
}

// judged notes what was said of a caller.
func (g *Grid) judged(v *sim.Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := v.Branches[0].Permission; p != nil {
		g.decided[p.Decision]++
	}
}

// count notes one pair, its verdict, and what it disagreed in.
func (g *Grid) count(w *World, v *sim.Verdict, said string) {
	g.judged(v)
	g.mu.Lock()
	for _, u := range v.Unknown {
		if ofOthers(u) {
			continue
		}
		what := subject(u)
		n, ok := g.unknown[what]
		if !ok {
			n = new([2]int)
			g.unknown[what] = n
		}
		n[0]++
		if said != "" {
			n[1]++
		}
	}
	g.mu.Unlock()
	taken := w.route(v)
	if taken == nil {
		return
	}
	axes := [3][]string{matches.Kinds(&taken.Match), filterKinds(taken), policyFields(taken)}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, axis := range axes {
		for _, a := range axis {
			g.seen[i][a] = true
			for _, other := range axes[i+1:] {
				for _, b := range other {
					g.pairs[[2]string{a, b}]++
				}
			}
		}
	}
}

func filterKinds(r *effective.Route) []string {
	var out []string
	for _, f := range r.Filters {
		switch {
		case f.RequestHeaders != nil:
			out = append(out, "request headers")
		case f.ResponseHeaders != nil:
			out = append(out, "response headers")
		case f.Rewrite != nil && f.Rewrite.Hostname != "":
			out = append(out, "rewrite host")
		case f.Mirror != nil:
			out = append(out, "mirror")
		}
		if f.Rewrite != nil && f.Rewrite.Path != nil {
			if f.Rewrite.Path.Full != nil {
				out = append(out, "rewrite path")
			} else {
				out = append(out, "rewrite prefix")
			}
		}
	}
	if _, ok := r.Answer.(*route.Redirect); ok {
		out = append(out, "redirect")
	}
	if len(r.Backends) > 1 {
		out = append(out, "split")
	}
	if len(out) == 0 {
		out = append(out, "no filter")
	}
	return compact(out)
}

// policyFields are the fields that act on requests of r.
func policyFields(r *effective.Route) []string {
	var out []string
	for _, e := range r.Policies {
		for _, f := range e.Fields {
			if leaf := e.Kind.Schema.Leaves[f.Field]; leaf.Scope == policies.OnRoute && f.Winner().Layer != merge.Default {
				out = append(out, strings.TrimPrefix(e.Kind.Name, "Mesh")+" "+leaf.Path)
			}
		}
	}
	if len(out) == 0 {
		out = append(out, "no policy")
	}
	return compact(out)
}

// subject is what an announcement is about, without names and numbers.
func subject(u string) string {
	what, _, _ := strings.Cut(u, ": ")
	if what == "answers" {
		return u
	}
	return what
}

// enough requests tell an announcement that means something from one that does not.
// The rarest known to mean something does in 1 request of 26, so that all of these
// are as predicted by chance once in some million runs, whatever the seed. Of fewer,
// nothing can be said.
const enough = 400

// Idle are announcements of enough requests of which reality was always as the
// rest of the verdict says: the simulator knows more than it says.
func (g *Grid) Idle() []string {
	var out []string
	for _, u := range sortedKeys(g.unknown) {
		if c := g.unknown[u]; c[0] >= enough && c[1] == 0 && !slices.Contains(notOfEnvoy, u) {
			out = append(out, u)
		}
	}
	return out
}

func compact(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// prefixed is the kind of match whose prefix can be rewritten.
var prefixed = matches.Kinds(&match.CatchAll)[0]

// impossible are cells that admission refuses: there is no prefix to replace.
func impossible(a, b string) bool {
	return b == "rewrite prefix" && (a == "no path" || strings.HasPrefix(a, "path ") && a != prefixed)
}

// Least is the emptiest cell of those that can be filled.
func (g *Grid) Least() (cell string, n int) {
	n = -1
	for i := range g.seen {
		for j := i + 1; j < len(g.seen); j++ {
			for _, a := range sortedKeys(g.seen[i]) {
				for _, b := range sortedKeys(g.seen[j]) {
					if impossible(a, b) {
						continue
					}
					if c := g.pairs[[2]string{a, b}]; n < 0 || c < n {
						cell, n = a+" x "+b, c
					}
				}
			}
		}
	}
	return cell, n
}

// String is three tables: match x filter, match x policy, filter x policy.
func (g *Grid) String() string {
	var b strings.Builder
	for i := range g.seen {
		for j := i + 1; j < len(g.seen); j++ {
			columns := sortedKeys(g.seen[j])
			for n, c := range columns {
				fmt.Fprintf(&b, "%c = %s\n", 'A'+rune(n), c)
			}
			fmt.Fprintf(&b, "%-26s", "")
			for n := range columns {
				fmt.Fprintf(&b, "%6c", 'A'+rune(n))
			}
			b.WriteByte('\n')
			for _, a := range sortedKeys(g.seen[i]) {
				fmt.Fprintf(&b, "%-26s", a)
				for _, c := range columns {
					fmt.Fprintf(&b, "%6d", g.pairs[[2]string{a, c}])
				}
				b.WriteByte('\n')
			}
			b.WriteByte('\n')
		}
	}
	for _, u := range sortedKeys(g.unknown) {
		fmt.Fprintf(&b, "%6d unknown, %d not as predicted: %s\n", g.unknown[u][0], g.unknown[u][1], u)
	}
	return b.String()
}
