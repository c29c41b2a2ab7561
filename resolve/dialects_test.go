package resolve_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// called are the routes by which a dataplane calls web, and what there is to say.
func called(t *testing.T, c *composition, dialects []route.Dialect, objects []*api.Object, docs ...string) (*effective.Table, []api.Note) {
	t.Helper()
	for _, d := range append(docs, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`) {
		objects = append(objects, worlds.Decode(t, c.catalog, d))
	}
	model, notes := resolve.Compile(snapshot.New(1, objects...), dialects, c.kinds)
	r, _ := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "a"})
	return r.Outbounds[0].Table, notes
}

const twoRules = `{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[
	{"matches":[{"path":{"type":"Exact","value":"/a"}}],"default":{}},{"matches":[{"path":{"type":"Exact","value":"/b"}}],"default":{}}]}]}}`

// TestANameThatIsANumberIsTheName: where a dialect's rules have names, a
// sectionName that is one of them means that rule and not the one of that index.
func TestANameThatIsANumberIsTheName(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := slices.Clone(c.dialects)
	read := dialects[0].Read
	dialects[0].Read = func(o *api.Object, see route.Lister) *route.ParsedRoute {
		says := read(o, see)
		named := *says.Entries[0].Rules[0].Origin
		named.RuleName = "1" // the first, which has the index 0
		says.Entries[0].Rules[0].Origin = &named
		return says
	}
	table, _ := called(t, c, dialects, nil, twoRules, `{"type":"MeshTimeout","mesh":"default","name":"p","spec":{
		"to":[{"targetRef":{"kind":"MeshHTTPRoute","name":"r","sectionName":"1"},"default":{"http":{"requestTimeout":"9s"}}}]}}`)
	for path, want := range map[string]bool{"/a": true, "/b": false} {
		i := slices.IndexFunc(table.Routes, func(r *effective.Route) bool { return r.Match.Path().Value == path })
		if got := table.Routes[i].Policies.Of("MeshTimeout") != nil; got != want {
			t.Errorf("%s has the timeout: %v", path, got)
		}
	}
}

// TestTheFirstDialectOwnsADestination: of route objects of two languages for one
// destination those of the language that is named first hold (spec/kuma.md 2.3).
func TestTheFirstDialectOwnsADestination(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	kuma := c.dialects[0]
	types := map[string]api.Type{}
	for _, t := range kuma.Types {
		types[t.Name] = t
	}
	other := kuma
	other.Types = []api.Type{types["MeshTCPRoute"]}
	other.Read = func(o *api.Object, _ route.Lister) *route.ParsedRoute {
		matches := []match.Match{matches.Path(match.Equal, "/"+o.Name)}
		return &route.ParsedRoute{Object: o, Top: api.TargetRef{Kind: api.KindMesh}, Entries: []route.Entry{{
			To:    api.TargetRef{Kind: api.KindMeshService, Name: "web"},
			Rules: []route.Rule{{Matches: matches, Origin: &api.Origin{Ref: o.Ref}}},
		}}}
	}
	other.Compose = func(_ route.Frontend, candidates []route.Candidate) route.Composition {
		rule := candidates[0].Rules[0]
		return route.Composition{
			Rows:    []route.Row{{MergedRule: &route.MergedRule{Matches: rule.Matches, Do: route.Passthrough{}}, Match: rule.Matches[0]}},
			Default: &route.MergedRule{Do: route.Passthrough{}},
		}
	}
	kuma.Types = []api.Type{types["MeshHTTPRoute"]}
	foreign := []*api.Object{{Ref: api.Ref{Kind: "MeshTCPRoute", Mesh: "default", Name: "foreign"}}}
	for _, tc := range []struct {
		name     string
		dialects []route.Dialect
		want     []string
		told     string // the object that is told of it
	}{
		{"kuma first", []route.Dialect{kuma, other}, []string{"/a", "/b", "/"}, "foreign"},
		{"the other first", []route.Dialect{other, kuma}, []string{"/foreign", "/"}, "r"},
	} {
		table, notes := called(t, c, tc.dialects, foreign, twoRules)
		var got []string
		for _, r := range table.Routes {
			got = append(got, r.Match.Path().Value)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: routes %q, want %q", tc.name, got, tc.want)
		}
		if len(notes) != 1 || notes[0].Code != "Conflicted" || notes[0].Origin.Name != tc.told {
			t.Errorf("%s: notes %v, want one on %s", tc.name, notes, tc.told)
		}
	}
}
