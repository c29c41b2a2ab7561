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
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/contour"
	"github.com/weftmesh/weft/xds"
)

type m = map[string]any

// tree draws objects in three namespaces that include each other, by name.
type tree map[string]m

var treeNames = []string{"r/root", "r/other", "a/one", "a/two", "b/one", "b/two"}

func anyTree(t *rapid.T) tree {
	out := tree{}
	for _, name := range treeNames {
		out[name] = anyProxy(t, name)
	}
	return out
}

func anyProxy(t *rapid.T, name string) m {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	conditions := func(include bool) (out []any) {
		switch kind := pick("kind", "prefix", "prefix", "", "exact", "regex", "wild", "regex"); {
		case kind == "prefix":
			out = append(out, m{kind: pick("prefix", "/", "/a", "/b/", "/ab")})
		case kind == "exact" && pick("often", "yes", "no") == "yes":
			out = append(out, m{kind: pick("exact", "/a", "/b/")})
		case kind == "regex" && !include:
			out = append(out, m{kind: pick("regex", "/.*|.*", "/x|/a.*", "/(?i)A", "/[^/]*", "/.*|.*")})
		case kind == "wild" && !include:
			out = append(out, m{"prefix": pick("wild", "/*/b", "/a*b")})
		}
		if op := pick("header", "", "", "exact", "notexact", "present"); op == "present" {
			out = append(out, m{"header": m{"name": "x", op: true}})
		} else if op != "" {
			out = append(out, m{"header": m{"name": "x", op: pick("value", "1", "2")}})
		}
		return out
	}
	var routes, includes []any
	for i := range rapid.IntRange(0, 3).Draw(t, "routes") {
		routes = append(routes, m{"conditions": conditions(false), "directResponsePolicy": m{"statusCode": 200 + i}})
	}
	for range rapid.IntRange(0, 3).Draw(t, "includes") {
		namespace, target := api.CutNamespace(pick("target", append(treeNames, "a/none")...))
		includes = append(includes, m{"name": target, "namespace": namespace, "conditions": conditions(true)})
	}
	spec := m{"routes": routes, "includes": includes}
	if name == "r/root" || name == "r/other" {
		spec["virtualhost"] = m{"fqdn": name[2:] + ".example"}
	}
	return spec
}

func (x tree) compile(t *rapid.T) *resolve.Model {
	docs := []string{`{"type":"Mesh","name":"default"}`, `{"type":"Dataplane","mesh":"default","name":"client","networking":{"address":"127.0.0.1","outbound":[{"port":1,"hosts":{"port":80}}]}}`}
	for _, name := range treeNames {
		docs = append(docs, x.document(t, name))
	}
	objects, err := decode.Objects(world.Catalog(), "tree.yaml", []byte(strings.Join(docs, "\n---\n")))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	model, _ := world.Compile(api.NewSnapshot(1, objects...))
	return model
}

func (x tree) document(t *rapid.T, name string) string {
	namespace, short := api.CutNamespace(name)
	text, err := json.Marshal(m{"apiVersion": "projectcontour.io/v1", "kind": contour.KindHTTPProxy, "metadata": m{"name": short, "namespace": namespace}, "spec": x[name]})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var client = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}

// below is what an include asks beside what is asked for already, by the words of
// the document alone: it knows nothing of the translation.
func below(prefix string, list []any) (path string, exact bool, headers []m) {
	path = prefix
	for _, c := range list {
		c := c.(m)
		for _, kind := range []string{"prefix", "exact"} {
			if v, ok := c[kind].(string); ok {
				path, exact = path+v, kind == "exact"
				for strings.Contains(path, "//") {
					path = strings.ReplaceAll(path, "//", "/")
				}
			}
		}
		if h, ok := c["header"].(m); ok {
			headers = append(headers, h)
		}
	}
	return path, exact, headers
}

// TestDelegationIsSafe: no request reaches a route of a child without satisfying every
// condition of the includes on the way to it.
func TestDelegationIsSafe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := anyTree(t)
		r, _ := x.compile(t).Dataplane(client)
		for _, o := range r.Outbounds {
			for _, rt := range o.Table.Routes {
				for _, path := range shortPaths("/", 4) {
					for _, value := range []string{"", "1", "2"} {
						x.permitted(t, o.Destination.Name, rt, path, value)
					}
				}
			}
		}
	})
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

// permitted fails where a route takes a request that the includes before it do not let
// through.
func (x tree) permitted(t *rapid.T, host string, rt *resolve.Route, path, value string) {
	q := &route.Request{Method: "GET", Path: path, Authority: host, Header: func(string) []string {
		if value == "" {
			return nil
		}
		return []string{value}
	}}
	if len(rt.Via) > 0 && rt.Match.Holds(q) {
		x.permits(t, rt, path, value)
	}
}

// permits fails where the includes before a route do not let a request through.
func (x tree) permits(t *rapid.T, rt *resolve.Route, path, value string) {
	prefix, exact := "/", false
	for _, via := range rt.Via {
		var at int
		if _, err := fmt.Sscanf(string(via.Field), "spec.includes[%d]", &at); err != nil {
			t.Fatal(err)
		}
		include := x[via.Namespace+"/"+via.Name]["includes"].([]any)[at].(m)
		list, _ := include["conditions"].([]any)
		var headers []m
		was := exact
		prefix, exact, headers = below(prefix, list)
		exact = exact || was
		for _, h := range headers {
			if h["present"] == true && value == "" || h["exact"] != nil && h["exact"] != value || h["notexact"] != nil && (value == "" || h["notexact"] == value) {
				t.Fatalf("%s with x %q reaches %s against %v", path, value, rt.Name, h)
			}
		}
	}
	if exact && path != prefix || !exact && !strings.HasPrefix(path, prefix) {
		t.Fatalf("%s reaches %s, but only %s was given away", path, rt.Name, prefix)
	}
}

// TestEditsStayWithinTheirNamespace: what a namespace writes into its children changes
// no byte of a host whose includes do not lead there.
func TestEditsStayWithinTheirNamespace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		x := anyTree(t)
		before := rendered(t, x.compile(t))
		x["a/one"], x["a/two"] = anyProxy(t, "a/one"), anyProxy(t, "a/two")
		after := rendered(t, x.compile(t))
		for _, root := range []string{"root", "other"} {
			if !x.leads("r/"+root, "a/", map[string]bool{}) && before[root+".example"] != after[root+".example"] {
				t.Fatalf("%s changed:\n%s", root, cmp.Diff(before[root+".example"], after[root+".example"]))
			}
		}
	})
}

// leads reports whether includes lead from an object into a namespace.
func (x tree) leads(from, namespace string, seen map[string]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	list, _ := x[from]["includes"].([]any)
	return slices.ContainsFunc(list, func(i any) bool {
		to := i.(m)["namespace"].(string) + "/" + i.(m)["name"].(string)
		return strings.HasPrefix(to, namespace) || x.leads(to, namespace, seen)
	})
}

// rendered is each host as its Envoys get it.
func rendered(t *rapid.T, model *resolve.Model) map[string]string {
	r, _ := model.Dataplane(client)
	out := map[string]string{}
	for _, o := range r.Outbounds {
		only := *r
		only.Outbounds = []*resolve.Outbound{o}
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
		snapshot := model.Reader(nil).Snapshot()
		for step := range rapid.IntRange(1, 4).Draw(t, "steps") {
			name := rapid.SampledFrom(treeNames).Draw(t, "changed")
			x[name] = anyProxy(t, name)
			objects, err := decode.Objects(world.Catalog(), "tree.yaml", []byte(x.document(t, name)))
			if api.Refuses(err) {
				t.Fatal(err)
			}
			old, _ := snapshot.Get(objects[0].Ref)
			list := []api.Change{{Before: old, After: objects[0]}}
			snapshot = snapshot.With(uint64(step+2), list)
			model, _ = model.Update(snapshot, list)
			clean, _ := world.Compile(snapshot)
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
