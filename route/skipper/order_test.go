package skipper

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// anyGroup draws a group whose routes meet each other often.
func anyGroup(t *rapid.T, name string) *RouteGroup {
	g := &RouteGroup{Hosts: []string{"a.example"}, Backends: []Backend{{Name: "s", ServiceName: "s", ServicePort: 80}, {Name: "l", Type: loopback}},
		DefaultBackends: []BackendRef{{BackendName: "s"}}}
	paths := []string{"/", "/a", "/a/", "/a/b", "/:x", "/:x/b", "/a/:x", "/**", "/a/**", "/:x/**", "/a/b/c", ""}
	subtrees := []string{"/", "/a", "/a/b", "/:x", "/a/:x", "/b"}
	for range rapid.IntRange(1, 6).Draw(t, name+" routes") {
		var r Route
		if rapid.Bool().Draw(t, "subtree") {
			r.PathSubtree = rapid.SampledFrom(subtrees).Draw(t, "pathSubtree")
		} else {
			r.Path = rapid.SampledFrom(paths).Draw(t, "path")
		}
		r.Predicates = rapid.SliceOfN(rapid.SampledFrom([]string{`Header("X", "1")`, `Header("Y", "1")`, "Weight(2)", "True()", `HostAny("a.example", "b.example")`, `PathRegexp("^/a|b$")`}), 0, 2).Draw(t, "predicates")
		r.Methods = rapid.SampledFrom([][]string{nil, nil, {"PUT"}, {"PUT", "GET"}}).Draw(t, "methods")
		if rapid.IntRange(0, 9).Draw(t, "loop") == 0 && len(g.Routes) < maxLoopbacks {
			from := rapid.SampledFrom([]string{"/a", "/b", "/a/b"}).Draw(t, "from")
			to := rapid.SampledFrom([]string{"/", "/a", "/b", "/a/c"}).Draw(t, "to")
			r.Path, r.PathSubtree, r.Backends = "", from, []BackendRef{{BackendName: "l"}}
			r.Filters = []string{fmt.Sprintf("modPath(%q, %q)", from, to)}
		}
		g.Routes = append(g.Routes, r)
	}
	if slices.ContainsFunc(g.Routes, func(r Route) bool { return r.Backends != nil }) { // then none asks by expressions
		for i := range g.Routes {
			r := &g.Routes[i]
			r.Predicates = slices.DeleteFunc(r.Predicates, func(p string) bool { return strings.HasPrefix(p, "PathRegexp") })
		}
	}
	return g
}

// candidatesOf are the groups as they come to the host, all of them valid.
func candidatesOf(t interface{ Fatal(...any) }, groups ...*RouteGroup) (out []route.Candidate, all []*planned) {
	for i, g := range groups {
		o := &api.Object{Ref: api.Ref{Kind: Kind, Mesh: "default", Name: fmt.Sprintf("g%d", i)}, Spec: g}
		p, err := planOf(g, o, "spec")
		if err != nil {
			t.Fatal(err)
		}
		var rules []route.Rule
		for _, r := range p.routes {
			rules = append(rules, r.rule())
		}
		out = append(out, route.Candidate{ParsedRoute: &route.ParsedRoute{Object: o}, Entry: &route.Entry{Rules: rules, Payload: reach{}}})
		all = append(all, p.routes...)
	}
	return out, all
}

func anyRequest(t *rapid.T) *match.Request {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 4).Draw(t, "segments")
	path := "/" + strings.Join(words, "/")
	if len(words) > 0 && rapid.Bool().Draw(t, "slash") {
		path += "/"
	}
	headers := http.Header{}
	for _, name := range []string{"X", "Y"} {
		if rapid.Bool().Draw(t, name) {
			headers.Set(name, "1")
		}
	}
	return &match.Request{Method: rapid.SampledFrom([]string{"GET", "PUT"}).Draw(t, "method"), Authority: "a.example", Path: path,
		Header: func(name string) []string { return headers.Values(name) }}
}

// walk is Skipper's way to a route, written down as it goes: all places of the tree
// at which the path is, the more literal ones first, and there by weight.
func walk(all []*planned, q *match.Request, not []*planned) *planned {
	type found struct {
		at pattern
		p  *planned
	}
	var reached []found
	for _, p := range all {
		for _, at := range places(p) {
			if !p.hasPath || isAt(at, strings.Split(q.Path[1:], "/")) {
				reached = append(reached, found{at, p})
			}
		}
	}
	slices.SortStableFunc(reached, func(a, b found) int {
		if a.p.hasPath != b.p.hasPath {
			return match.FalseFirst(!a.p.hasPath, !b.p.hasPath)
		}
		for i := range min(len(a.at), len(b.at)) {
			if c := cmp.Compare(a.at[i].kind, b.at[i].kind); c != 0 {
				return c
			}
		}
		return cmp.Or(cmp.Compare(b.p.weight, a.p.weight), match.FalseFirst(a.p.byChance(), b.p.byChance()), cmp.Compare(a.p.segmentFrom(), b.p.segmentFrom()), match.FalseFirst(a.p.subtree, b.p.subtree), cmp.Compare(b.p.asks.constraints, a.p.asks.constraints),
			cmp.Compare(a.p.origin.Name, b.p.origin.Name), cmp.Compare(*a.p.origin.Rule, *b.p.origin.Rule))
	})
	for _, f := range reached {
		holds := f.p.asks.all.Holds(q) && slices.ContainsFunc(f.p.asks.options, func(o option) bool { return o.conditions.Holds(q) })
		if !holds || slices.Contains(not, f.p) {
			continue
		}
		if f.p.parts[0].kind != loopback {
			return f.p
		}
		text, _ := f.p.path.text()
		moved := *q
		moved.Path = strings.TrimSuffix(f.p.effects[loopback].path.with, "/") + strings.TrimPrefix(q.Path, text)
		if moved.Path == "" {
			moved.Path = "/"
		}
		own := slices.DeleteFunc(slices.Clone(all), func(p *planned) bool { return p.origin.Ref != f.p.origin.Ref })
		return walk(own, &moved, append(not[:len(not):len(not)], f.p))
	}
	return nil
}

func places(p *planned) []pattern {
	switch {
	case !p.hasPath:
		return []pattern{nil}
	case !p.subtree:
		return []pattern{p.path}
	}
	return []pattern{p.path, p.path.with(segment{}), p.path.with(segment{kind: rest})}
}

// isAt reports whether the segments of a path are at a place.
func isAt(at pattern, segments []string) bool {
	for i, s := range at {
		switch {
		case i == len(segments):
			return false
		case s.kind == rest:
			return strings.Join(segments[i:], "") != ""
		case s.kind == param && segments[i] == "", s.kind == literal && segments[i] != s.text:
			return false
		}
	}
	return len(at) == len(segments)
}

// TestTableIsTheWalk: the flat table leads to the route to which the tree with its
// falling back does, whatever the groups; loopbacks too.
func TestTableIsTheWalk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, all := candidatesOf(t, anyGroup(t, "first"), anyGroup(t, "second"))
		table := compose(route.Frontend{Name: "a.example"}, candidates)
		for range 20 {
			q := anyRequest(t)
			want, got := "404", "404"
			if p := walk(all, q, nil); p != nil {
				want = p.name()
			}
			for _, r := range table.Rows {
				if r.Match.Holds(q) {
					if len(r.Origins) > 0 {
						got = r.Origins[0].Name + "/" + fmt.Sprint(*r.Origins[0].Rule)
					}
					break
				}
			}
			if got != want {
				var text strings.Builder
				for _, r := range table.Rows {
					fmt.Fprintf(&text, "%s: %s\n", r.Key, r.Match.Short())
				}
				t.Fatalf("%s %s: the table leads to %s, the walk to %s\n%s", q.Method, q.Path, got, want, text.String())
			}
		}
	})
}

// TestOrderIsStrictAndWeak: what is equal is equal to the same, and what is before
// stays before.
func TestOrderIsStrictAndWeak(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, all := candidatesOf(t, anyGroup(t, "first"), anyGroup(t, "second"), chancy)
		var entries []*entry
		for _, p := range all {
			entries = append(entries, p.entries(rapid.Bool().Draw(t, "hosted"))...)
		}
		pick := rapid.SampledFrom(entries)
		a, b, c := pick.Draw(t, "a"), pick.Draw(t, "b"), pick.Draw(t, "c")
		ab, ba, bc, ac := compareEntries(a, b), compareEntries(b, a), compareEntries(b, c), compareEntries(a, c)
		switch {
		case ab != -ba || compareEntries(a, a) != 0:
			t.Fatalf("%d and %d", ab, ba)
		case ab <= 0 && bc <= 0 && ac > 0, ab == 0 && bc == 0 && ac != 0:
			t.Fatalf("%d, %d, but %d", ab, bc, ac)
		case ab == 0 && (a.planned != b.planned):
			t.Fatalf("%s and %s tie", a.name(), b.name())
		}
	})
}

// chancy is a group of routes that differ in what they leave to chance.
var chancy = &RouteGroup{Hosts: []string{"a.example"}, Backends: []Backend{{Name: "s", ServiceName: "s", ServicePort: 80}}, DefaultBackends: []BackendRef{{BackendName: "s"}},
	Routes: []Route{
		{PathSubtree: "/a", Predicates: []string{"Traffic(.5)"}}, {PathSubtree: "/a", Predicates: []string{`Cookie("a", "b")`}}, {Path: "/a", Predicates: []string{"Traffic(.1)"}},
		{Path: "/a", Predicates: []string{"TrafficSegment(0, .5)"}}, {Path: "/a", Predicates: []string{"TrafficSegment(.5, 1)"}},
	}}

// TestDividedSubtree: a subtree is one prefix where nothing comes between its leaves,
// and in parts where something does.
func TestDividedSubtree(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		routes []Route
		want   string
	}{
		"alone":            {[]Route{{PathSubtree: "/a"}}, "g0/0 PathPrefix /a"},
		"deeper":           {[]Route{{PathSubtree: "/a"}, {PathSubtree: "/a/b"}}, "g0/1 PathPrefix /a/b; g0/0 PathPrefix /a"},
		"two of one path":  {[]Route{{PathSubtree: "/a", Methods: []string{"PUT"}}, {PathSubtree: "/a"}}, "g0/0 PUT PathPrefix /a; g0/1 PathPrefix /a"},
		"weightier":        {[]Route{{PathSubtree: "/a", Methods: []string{"PUT"}}, {Path: "/a"}}, "g0/0 PUT Exact /a; g0/1 Exact /a; g0/0 PUT Exact /a/; g0/0 PUT path begins with /a/"},
		"lighter":          {[]Route{{PathSubtree: "/a"}, {Path: "/a", Methods: []string{"PUT"}}}, "g0/1 PUT Exact /a; g0/0 PathPrefix /a"},
		"everything":       {[]Route{{PathSubtree: "/"}, {Path: "/"}}, "g0/1 Exact /; g0/0 PathPrefix /"},
		"parameters":       {[]Route{{PathSubtree: "/:x"}}, "g0/0 RegularExpression /[^/]+(/.*)?"},
		"without a path":   {[]Route{{}, {PathRegexp: "^/a$"}, {PathSubtree: "/"}}, "g0/2 PathPrefix /; g0/1 RegularExpression (?:/a); g0/0 any path"},
		"always the first": {[]Route{{Path: "/a", Predicates: []string{"Weight(-1)"}}, {PathSubtree: "/a"}}, "g0/1 Exact /a; g0/0 Exact /a; g0/1 Exact /a/; g0/1 path begins with /a/"},
	} {
		g := &RouteGroup{Hosts: []string{"a.example"}, Backends: chancy.Backends, DefaultBackends: chancy.DefaultBackends, Routes: c.routes}
		candidates, _ := candidatesOf(t, g)
		var rows []string
		for _, r := range compose(route.Frontend{Name: "a.example"}, candidates).Rows {
			rows = append(rows, r.Key+" "+r.Match.Short())
		}
		if got := strings.Join(rows, "; "); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
