package contour_test

import (
	"encoding/json"
	"strings"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route/contour"
	"github.com/weftmesh/weft/route/match"
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
		if op := pick("query", "", "", "", "exact", "present"); op == "present" {
			out = append(out, m{"queryParameter": m{"name": "q", op: true}})
		} else if op != "" {
			out = append(out, m{"queryParameter": m{"name": "q", op: pick("parameter", "1", "2")}})
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
	model, _ := world.Compile(snapshot.New(1, objects...))
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

// asking is a request to a host of a tree, of which the header x and the query parameter
// q are looked at; empty ones are not there.
type asking struct{ path, x, q string }

func (a asking) request(host string) *match.Request {
	q := &match.Request{Method: "GET", Path: a.path, Authority: host, Header: func(string) []string {
		if a.x == "" {
			return nil
		}
		return []string{a.x}
	}}
	if a.q != "" {
		q.Query = "q=" + a.q
	}
	return q
}

// askings are requests to few paths, of up to n bytes behind the first.
func askings(n int) []asking {
	var out []asking
	for _, path := range shortPaths("/", n) {
		for _, x := range []string{"", "1", "2"} {
			for _, q := range []string{"", "1", "2"} {
				out = append(out, asking{path, x, q})
			}
		}
	}
	return out
}
