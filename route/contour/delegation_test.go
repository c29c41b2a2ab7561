package contour_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
)

// given is what includes on the way from a root ask for, by the words of the documents
// alone: it knows nothing of the translation.
type given struct {
	path  string
	exact bool
	why   []m // headers and query parameters
}

// below is what is asked for through one more include.
func (g given) below(include m) given {
	list, _ := include["conditions"].([]any)
	g.why = slices.Clip(g.why)
	for _, c := range list {
		c := c.(m)
		for _, kind := range []string{"prefix", "exact"} {
			if v, ok := c[kind].(string); ok {
				g.path, g.exact = g.path+v, g.exact || kind == "exact"
				for strings.Contains(g.path, "//") {
					g.path = strings.ReplaceAll(g.path, "//", "/")
				}
			}
		}
		if c["header"] != nil || c["queryParameter"] != nil {
			g.why = append(g.why, c)
		}
	}
	return g
}

// lets reports whether a request satisfies all of it.
func (g given) lets(a asking) bool {
	if g.exact && a.path != g.path || !g.exact && !strings.HasPrefix(a.path, g.path) {
		return false
	}
	return !slices.ContainsFunc(g.why, func(c m) bool {
		is, value := c["header"], a.x
		if is == nil {
			is, value = c["queryParameter"], a.q
		}
		asked := is.(m)
		return asked["present"] == true && value == "" || asked["exact"] != nil && asked["exact"] != value ||
			asked["notexact"] != nil && (value == "" || asked["notexact"] == value)
	})
}

// TestDelegationIsSafe: no request reaches a route of a child without satisfying every
// condition of the includes on the way to it.
func TestDelegationIsSafe(t *testing.T) {
	t.Parallel()
	all := askings(3)
	rapid.Check(t, func(t *rapid.T) {
		x := anyTree(t)
		r, _ := x.compile(t).Dataplane(client)
		for _, o := range r.Outbounds {
			for _, rt := range o.Table.Routes {
				if len(rt.IncludedBy) == 0 {
					continue
				}
				g := x.way(t, rt)
				for _, a := range all {
					if rt.Match.Holds(a.request(o.Destination.Name)) && !g.lets(a) {
						t.Fatalf("%v reaches %s, but only %v was given away", a, rt.Name, g)
					}
				}
			}
		}
	})
}

// way is what the includes before a route ask for.
func (x tree) way(t *rapid.T, rt *effective.Route) given {
	g := given{path: "/"}
	for _, via := range rt.IncludedBy {
		var at int
		if _, err := fmt.Sscanf(string(via.Field), "spec.includes[%d]", &at); err != nil {
			t.Fatal(err)
		}
		g = g.below(x[via.Namespace+"/"+via.Name]["includes"].([]any)[at].(m))
	}
	return g
}

// shortPaths are all that begin so and have up to n bytes more, of few.
func shortPaths(begin string, n int) []string {
	out := []string{begin}
	for _, c := range []string{"a", "b", "x", "/"} {
		if n > 0 {
			out = append(out, shortPaths(begin+c, n-1)...)
		}
	}
	return out
}

// TestEditsStayWithinTheirNamespace: what a namespace writes into its children changes
// no byte of a host whose includes do not lead there, and of others nothing of what
// becomes of the requests that no chain of includes gives to the namespace.
func TestEditsStayWithinTheirNamespace(t *testing.T) {
	t.Parallel()
	all := askings(3)
	shared := 0
	rapid.Check(t, func(t *rapid.T) {
		x := anyTree(t)
		was := x.compile(t)
		x["a/one"], x["a/two"] = anyProxy(t, "a/one"), anyProxy(t, "a/two")
		is := x.compile(t)
		before, after := rendered(t, was), rendered(t, is)
		for _, root := range []string{"root", "other"} {
			host := root + ".example"
			away := x.gives("r/"+root, "a/", given{path: "/"}, nil)
			if len(away) == 0 && before[host] != after[host] {
				t.Fatalf("%s changed:\n%s", root, cmp.Diff(before[host], after[host]))
			}
			for _, a := range all {
				if slices.ContainsFunc(away, func(g given) bool { return g.lets(a) }) {
					continue
				}
				if len(away) > 0 {
					shared++
				}
				if diff := cmp.Diff(taking(t, was, host, a), taking(t, is, host, a)); diff != "" {
					t.Fatalf("%s: what becomes of %v, which nobody gave away, changed:\n%s", root, a, diff)
				}
			}
		}
	})
	if shared < 1000 {
		t.Errorf("only %d requests to the rest of a host of which a part was given away", shared)
	}
}

// gives are what the chains of includes ask for that lead from an object into a namespace.
func (x tree) gives(from, namespace string, g given, seen []string) (out []given) {
	list, _ := x[from]["includes"].([]any)
	for _, i := range list {
		to, below := i.(m)["namespace"].(string)+"/"+i.(m)["name"].(string), g.below(i.(m))
		switch {
		case strings.HasPrefix(to, namespace):
			out = append(out, below)
		case !slices.Contains(seen, to):
			out = append(out, x.gives(to, namespace, below, append(slices.Clip(seen), from))...)
		}
	}
	return out
}

// taking is the route that takes a request to a host, as text; empty where none does.
func taking(t *rapid.T, model *resolve.Model, host string, a asking) string {
	r, _ := model.Dataplane(client)
	for _, o := range r.Outbounds {
		if o.Destination.Name != host {
			continue
		}
		for _, rt := range o.Table.Routes {
			if !rt.Match.Holds(a.request(host)) {
				continue
			}
			parts := []any{rt.Name, rt.Match, rt.Origins, rt.IncludedBy, rt.Filters, rt.Answer, rt.Backends, rt.Mirrors, rt.Upgrade}
			for _, e := range rt.Policies {
				parts = append(parts, e.Kind.Name, e.Conf)
			}
			text, err := json.Marshal(parts)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	return ""
}

// rendered is each host as its Envoys get it.
func rendered(t *rapid.T, model *resolve.Model) map[string]string {
	r, _ := model.Dataplane(client)
	out := map[string]string{}
	for _, o := range r.Outbounds {
		only := *r
		only.Outbounds = []*effective.Outbound{o}
		s := xds.NewRenderer(world.Kinds()).Render(&only)
		for _, x := range s.Routes {
			out[o.Destination.Name] += x.Version
		}
	}
	return out
}

// TestUpdateEqualsCompile: whatever changes in a tree, the model derived step by step has
// the routes and notes of one compiled from nothing.
func TestUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := anyTree(t)
		model := x.compile(t)
		state := model.Reader(nil).Snapshot()
		for step := range rapid.IntRange(1, 4).Draw(t, "steps") {
			name := rapid.SampledFrom(treeNames).Draw(t, "changed")
			x[name] = anyProxy(t, name)
			objects, err := decode.Objects(world.Catalog(), "tree.yaml", []byte(x.document(t, name)))
			if api.Refuses(err) {
				t.Fatal(err)
			}
			old, _ := state.Get(objects[0].Ref)
			list := []snapshot.Change{{Before: old, After: objects[0]}}
			state = state.With(uint64(step+2), list)
			model, _ = model.Update(state, list)
			clean, _ := world.Compile(state)
			if diff := cmp.Diff(told(clean), told(model)); diff != "" {
				t.Fatalf("notes, compiled (-) and updated (+):\n%s", diff)
			}
			if diff := cmp.Diff(rendered(t, clean), rendered(t, model)); diff != "" {
				t.Fatalf("hosts, compiled (-) and updated (+):\n%s", diff)
			}
		}
	})
}

func told(model *resolve.Model) (out []string) {
	for n := range model.Notes() {
		out = append(out, fmt.Sprintf("%s %s %s %s", n.Origin.Ref, n.Code, n.Field, n.Message))
	}
	return out
}
