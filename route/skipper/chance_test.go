package skipper

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// lucky draws a group of routes that are taken by chance.
func lucky(t *rapid.T) *RouteGroup {
	g := &RouteGroup{Hosts: []string{"a.example"}, Backends: []Backend{{Name: "s", ServiceName: "s", ServicePort: 80}, {Name: "no", Type: shunt}},
		DefaultBackends: []BackendRef{{BackendName: "s"}}}
	divided := rapid.Bool().Draw(t, "divided")
	most := 6
	if divided { // into rows for each combination of what they ask for
		most = 3
	}
	for range rapid.IntRange(1, most).Draw(t, "routes") {
		r := Route{Predicates: rapid.SliceOfN(rapid.SampledFrom([]string{
			"Traffic(.5)", "Traffic(.1)", "Traffic(1)", "Traffic(0)", `Traffic(.3, "c", "A")`, `Header("X", "1")`, `Header("Y", "1")`, `Cookie("c", "^B$")`,
		}), 0, 3).Draw(t, "predicates")}
		if rapid.Bool().Draw(t, "subtree") {
			r.PathSubtree = rapid.SampledFrom([]string{"/", "/a"}).Draw(t, "pathSubtree")
		} else {
			r.Path = rapid.SampledFrom([]string{"/a", "/:x", "/a/", "/**"}).Draw(t, "path")
		}
		if rapid.IntRange(0, 3).Draw(t, "parts") == 0 {
			r.Backends = []BackendRef{{BackendName: "s", Weight: new(uint32(3))}, {BackendName: "no", Weight: new(uint32(1))}}
		}
		if rapid.IntRange(0, 3).Draw(t, "sticky") == 0 {
			r.Filters = []string{`responseCookie("c", "A", 60, "change-only")`}
		}
		g.Routes = append(g.Routes, r)
		if divided && !slices.ContainsFunc(r.Predicates, func(p string) bool { return strings.HasPrefix(p, "Traffic") }) {
			g.Routes = append(g.Routes[:len(g.Routes)-1], inSegments(t, r)...)
		}
	}
	return g
}

// inSegments are routes that divide one draw, and sometimes one that wants the first
// part of it again.
func inSegments(t *rapid.T, r Route) []Route {
	var out []Route
	for _, s := range rapid.SampledFrom([][]string{{"0, .5", ".5, 1"}, {"0, .2", ".2, .7", ".7, 1"}, {"0, .3"}, {"0, .5", "0, .5", ".5, 1"}, {"0, .3", "0, .6", ".6, 1"}}).Draw(t, "segments") {
		x := r
		x.Predicates = append(slices.Clone(r.Predicates), "TrafficSegment("+s+")")
		out = append(out, x)
	}
	return out
}

// chances are how often each route, and each of its parts, should take a request,
// where each Traffic draws for itself, and all segments
// once.
func chances(all []*planned, q *match.Request) map[string]float64 {
	cuts := []float64{0, 1}
	for _, p := range all {
		if s := p.asks.segment; s != nil {
			cuts = append(cuts, s[0], s[1])
		}
	}
	slices.Sort(cuts)
	out := map[string]float64{}
	for n, from := range cuts[:len(cuts)-1] {
		left := cuts[n+1] - from
		var passed []*planned // or without this part of the one draw
		for _, p := range all {
			if s := p.asks.segment; s != nil && (from < s[0] || from >= s[1]) {
				passed = append(passed, p)
			}
		}
		for left > 1e-9 {
			p := walk(all, q, passed)
			if p == nil {
				break
			}
			passed = append(passed, p)
			i := slices.IndexFunc(p.asks.options, func(o option) bool { return o.conditions.Holds(q) })
			taken := left * p.asks.options[i].chance
			for n, x := range p.parts {
				out[fmt.Sprintf("%s part %d", p.name(), n)] += taken * x.share
			}
			left -= taken
		}
		out["404"] += left
	}
	return out
}

// drawnBy is the same, as the table divides the one draw that Envoy makes.
func drawnBy(table route.Composition, all []*planned, q *match.Request) map[string]float64 {
	cuts := []int64{0, match.Chances}
	for _, r := range table.Rows {
		for _, c := range r.Match.Conditions {
			if c.On == match.OnChance {
				cuts = append(cuts, c.Until)
			}
		}
	}
	slices.Sort(cuts)
	out := map[string]float64{"404": 0}
	for _, p := range all {
		for n := range p.parts {
			out[fmt.Sprintf("%s part %d", p.name(), n)] = 0
		}
	}
	for i, from := range cuts[:len(cuts)-1] {
		r := *q
		r.Draw = from
		key := "404"
		for _, row := range table.Rows {
			if row.Match.Holds(&r) {
				kind := service
				if _, no := row.Do.(*route.Respond); no {
					kind = shunt
				}
				p := all[*row.Origins[0].Rule]
				n := slices.IndexFunc(p.parts, func(x part) bool { return x.kind == kind })
				key = fmt.Sprintf("%s part %d", p.name(), n)
				break
			}
		}
		out[key] += float64(cuts[i+1]-from) / match.Chances
	}
	return out
}

// TestOneDrawDoesForAll: the thresholds of one draw give each route the share that it
// would have if each drew for itself.
func TestOneDrawDoesForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, all := candidatesOf(t, lucky(t))
		table := compose(route.Frontend{Name: "a.example"}, candidates)
		for range 5 {
			q := anyRequest(t)
			headers := http.Header{}
			for _, name := range []string{"X", "Y"} {
				if rapid.Bool().Draw(t, name) {
					headers.Set(name, "1")
				}
			}
			if c := rapid.SampledFrom([]string{"", "c=A", "c=B"}).Draw(t, "cookie"); c != "" {
				headers.Set("Cookie", c)
			}
			q.Header = func(name string) []string { return headers.Values(name) }
			want, got := chances(all, q), drawnBy(table, all, q)
			for key, share := range got {
				if math.Abs(share-want[key]) > 1e-5 {
					t.Fatalf("%s %v: %s has %v, want %v", q.Path, headers, key, got, want)
				}
			}
		}
	})
}

// TestRowsByChanceAreBounded: routes by chance that each ask for something else are as many
// combinations as there are subsets of them; no table has them all, and the group is told.
func TestRowsByChanceAreBounded(t *testing.T) {
	t.Parallel()
	f := route.Frontend{Name: "a.example"}
	for routes, told := range map[int]int{fewChances: 0, fewChances + 1: 0, 12: 1, 40: 1} {
		g := &RouteGroup{Hosts: []string{"a.example"}, Backends: chancy.Backends, DefaultBackends: chancy.DefaultBackends}
		for i := range routes {
			g.Routes = append(g.Routes, Route{Path: "/a", Predicates: []string{fmt.Sprintf(`Header("X-%d", "1")`, i), "Traffic(.5)"}})
		}
		candidates, _ := candidatesOf(t, g)
		if n := len(compose(f, candidates).Rows); n > 3*maxDrawn {
			t.Errorf("%d routes: %d rows", routes, n)
		}
		notes := slices.DeleteFunc(meet(f, candidates[0], candidates), func(n api.Note) bool { return n.Code != roughShare })
		if len(notes) != told {
			t.Errorf("%d routes: %v", routes, notes)
		}
	}
}
