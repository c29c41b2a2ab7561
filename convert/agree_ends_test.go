package convert_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// end is a part of the requests that are alike, with what becomes of it.
type end struct {
	view
	text   string // of the view
	branch *sim.Branch
	share  float64 // of the requests
	rules  []route.RuleRef
	notes  []api.Note // that say that something of the rules is not as it was
	// lost says that a table which has the rules is said to be left out.
	lost bool
}

// ends are those of a verdict. Forgiven are codes that say of rules what is not compared
// then; without them they are those that are told of the rules.
func (a *agreement) ends(q *query, v *sim.Verdict, authority string, forgiven []string) ([]*end, []string) {
	var out []*end
	for i := range v.Branches {
		e := &end{branch: &v.Branches[i], share: v.Branches[i].Probability, rules: rulesOf(&v.Branches[i])}
		e.notes, e.lost = a.about(e.rules), a.lost(q, e.rules)
		out = append(out, e)
		for _, n := range e.notes {
			forgiven = append(forgiven, n.Code)
			if said, ok := strings.CutPrefix(n.Message, "a "); ok && n.Code == "PolicyNotExpressible" {
				said, _, _ = strings.Cut(said, ", so that is left out")
				forgiven = append(forgiven, strings.Replace(said, " does not say ", " ", 1))
			}
		}
	}
	for _, code := range []string{"MissingBackend", "PoliciesAct"} {
		if a.told(q, code) {
			forgiven = append(forgiven, code)
		}
	}
	for i, e := range out {
		e.view = seen(&v.Branches[i], authority, forgiven)
		e.text = asText(e.view)
	}
	return out, forgiven
}

func rulesOf(b *sim.Branch) []route.RuleRef {
	var out []route.RuleRef
	if b.Route != nil {
		for _, o := range b.Route.Origins {
			out = append(out, route.RuleRef{Ref: o.Ref, Field: o.Field})
		}
	}
	return out
}

// about are the notes about rules that say that something is not as it was.
func (a *agreement) about(rules []route.RuleRef) []api.Note {
	var out []api.Note
	for _, n := range a.result.Notes {
		if n.Severity != api.Info && n.Field != "" && slices.ContainsFunc(rules, func(r route.RuleRef) bool {
			return r.Ref == n.Origin.Ref && (r.Field == n.Field || notOfAll(&n) && r.Field.Within(n.Field))
		}) {
			out = append(out, n)
		}
	}
	return out
}

// notOfAll reports whether a note says that an entry is not for all who ask, so that it is
// not translated.
func notOfAll(n *api.Note) bool { return n.Code == route.UnsaidPlace && n.Severity == api.Error }

// tablesAt are the tables of those who ask for an authority: of its service, or of the
// narrowest name of its host.
func (a *agreement) tablesAt(authority string) []convert.Table {
	host, port, service := strings.Cut(authority, ":")
	names := append([]string{host}, api.HostsAbove(host)...)
	if service {
		names = names[:1]
	}
	for _, name := range names {
		at := func(to api.TargetRef) bool {
			return to.Name == name && (to.Kind == api.KindHost) != service && (!service || to.SectionName == "" || to.SectionName == port)
		}
		var out []convert.Table
		for _, t := range a.trace.Tables {
			if slices.ContainsFunc(t.Places, at) {
				out = append(out, t)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// told reports whether a note about one of the tables of a query has a code.
func (a *agreement) told(q *query, code string) bool {
	return slices.ContainsFunc(q.tables, func(t convert.Table) bool { return a.toldOf(t, code) })
}

func (a *agreement) toldOf(t convert.Table, codes ...string) bool {
	return slices.ContainsFunc(a.result.Notes, func(n api.Note) bool {
		return n.Field == "" && n.Origin.Ref == t.By && slices.Contains(codes, n.Code)
	})
}

// lost reports whether a table that has the rules is said not to be written, nor to have any
// of its rules; without rules, whether all tables of the query are.
func (a *agreement) lost(q *query, rules []route.RuleRef) bool {
	left := func(t convert.Table) bool {
		return (!t.Written || t.Bare) && a.toldOf(t, route.UnsaidPlace, "PlaceTaken")
	}
	if len(rules) > 0 {
		return slices.ContainsFunc(q.tables, func(t convert.Table) bool { return left(t) && t.By.Kind == rules[0].Kind })
	}
	return len(q.tables) > 0 && !slices.ContainsFunc(q.tables, func(t convert.Table) bool { return !left(t) })
}

// takers are whose rules an end after the translation is by, as messages name them.
func (a *agreement) takers(y *end) []string {
	if len(y.rules) > 0 && a.trace.From[y.rules[len(y.rules)-1]] != nil {
		return slices.Compact(slices.Sorted(slices.Values(a.trace.From[y.rules[len(y.rules)-1]])))
	}
	return []string{"no rule"}
}

// promised reports whether it is said that y becomes of requests of which x was.
func (a *agreement) promised(q *query, x, y *end) bool {
	closed := y.branch.Outcome == sim.Respond && y.branch.Status >= 400
	for _, t := range q.tables {
		switch {
		case x.lost && (!t.Written || t.Bare && closed):
			return true
		case len(x.rules) == 0 && a.toldOf(t, "UnmatchedDiffers") && closed && y.branch.Status == 500:
			return true
		case len(x.rules) == 0 && t.Written && t.Objects == 0 && y.branch.Outcome == "": // nobody serves the host then
			return true
		case a.toldOf(t, "WebSockets") && q.Headers["upgrade"] != "" && slices.ContainsFunc(x.rules, func(r route.RuleRef) bool {
			return slices.Contains(a.takers(y), fmt.Sprintf("%s of %s", r.Field, r.FullName()))
		}):
			return true
		}
	}
	return slices.ContainsFunc(x.notes, func(n api.Note) bool { return a.says(q, &n, y) })
}

// says reports whether a note about a rule says that y becomes of its requests.
func (a *agreement) says(q *query, n *api.Note, y *end) bool {
	if _, takers, left := strings.Cut(n.Message, "its requests come to "); left {
		names := strings.Split(takers, ", ")
		nobody := slices.Contains(names, "no rule") || slices.Contains(names, "what no rule takes")
		return slices.Contains(names, "others") || slices.ContainsFunc(a.takers(y), func(s string) bool {
			return slices.Contains(names, s) || nobody && strings.HasPrefix(s, "authority ") && y.branch.Status >= 400 // for hosts that have rules of their own
		})
	}
	path, _, _ := strings.Cut(strings.TrimPrefix(q.URL, "http://"+q.authority), "?")
	switch {
	case strings.Contains(n.Message, "answered with 500 instead"):
		return y.branch.Outcome == sim.Respond && y.branch.Status == 500
	case n.Code == "PartNotExpressible":
		begin, _, _ := strings.Cut(strings.TrimPrefix(n.Message[max(0, strings.Index(n.Message, "that begin with ")):], "that begin with "), " and go on without a slash")
		rest, begins := strings.CutPrefix(path, begin)
		return strings.Contains(n.Message, "the path "+path+" itself") || strings.Contains(n.Message, "without a slash") && begins && rest != "" && rest[0] != '/'
	case n.Code == route.UnsaidPlace && n.Severity == api.Warning: // that of *.example.org
		wide, _, _ := strings.Cut(n.Message, " is for names")
		return strings.Count(q.authority, ".") > strings.Count(wide, ".")
	}
	return notOfAll(n)
}

func messages(notes []api.Note) []string {
	var out []string
	for _, n := range notes {
		out = append(out, fmt.Sprintf("%s %s: %s", n.Origin.FullName(), n.Field, n.Message))
	}
	return out
}

// limits says where requests that shared a bucket do not any more, or the other way round.
func (a *agreement) limits(was, is *sim.Verdict) string {
	x, y := bucket(was), bucket(is)
	for i, pair := range [][2]string{{x, y}, {y, x}} {
		if known, seen := a.buckets[i][pair[0]]; seen && known != pair[1] {
			return fmt.Sprintf("the bucket was %s and is %s, and one of them is another's: %s", x, y, known)
		}
		a.buckets[i][pair[0]] = pair[1]
	}
	return ""
}

// bucket is whose rate limits a request; empty for none.
func bucket(v *sim.Verdict) string {
	said := v.Branches[0].Policies["MeshRateLimit"].Why["local.http.requestRate"]
	if len(said) == 0 || said[len(said)-1].Origin == nil {
		return ""
	}
	o := said[len(said)-1].Origin
	return fmt.Sprintf("%s %s at %s:%d", o.Ref, o.Field, v.Destination.Name, v.Destination.Port)
}
