package resolve_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// TestWhatAppliesAlikeIsShared: dataplanes to which the same applies hold the
// same values, not equal ones; a policy that tells them apart separates only
// what it is about.
func TestWhatAppliesAlikeIsShared(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	plane := func(name, team string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","labels":{"team":"`+team+`"},"networking":{"address":"127.0.0.1",
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],
			"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`)
	}
	timeout := worlds.Decode(t, c.catalog, `{"type":"MeshTimeout","mesh":"default","name":"x","spec":{"targetRef":{"kind":"Dataplane","labels":{"team":"x"}},
		"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"1s"}}]}}`)
	s := snapshot.New(1, plane("a", "x"), plane("b", "x"), plane("c", "y"), timeout)
	model, _ := resolve.Compile(s, c.dialects, c.kinds)
	at := func(name string) *effective.Resolved {
		r, ok := model.Dataplane(api.Ref{Kind: "Dataplane", Mesh: "default", Name: name})
		if !ok {
			t.Fatal("no dataplane", name)
		}
		return r
	}
	a, b, other := at("a"), at("b"), at("c")
	if a.Outbounds[0].Table != b.Outbounds[0].Table {
		t.Error("two of one class have a route table each")
	}
	if a.Clusters[0].Cluster != b.Clusters[0].Cluster {
		t.Error("two of one class have a cluster each")
	}
	if a.Clusters[0].Cluster == other.Clusters[0].Cluster {
		t.Error("a policy for one class reaches another")
	}
	if a.Clusters[0].Endpoints != other.Clusters[0].Endpoints {
		t.Error("endpoints differ by class")
	}
}

// TestOthersPoliciesKeepTheTable: where only what is said about the listener to a
// table changes, what was derived from the table stays, and those who share it still
// share what is derived from both.
func TestOthersPoliciesKeepTheTable(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	said := func(idle string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"MeshTimeout","mesh":"default","name":"x","spec":{"targetRef":{"kind":"Mesh"},
			"to":[{"targetRef":{"kind":"Mesh"},"default":{"idleTimeout":"`+idle+`"}}]}}`)
	}
	var objects []*api.Object
	for _, name := range []string{"a", "b"} {
		objects = append(objects, worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","networking":{"address":"127.0.0.1",
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"db","kuma.io/protocol":"tcp"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"db"}}]}}`))
	}
	old := said("1m")
	before, _ := resolve.Compile(snapshot.New(1, append(objects, old)...), c.dialects, c.kinds)
	change := []snapshot.Change{{Before: old, After: said("2m")}}
	after, _ := before.Update(before.Snapshot().With(2, change), change)
	called := func(m *resolve.Model, n int) *effective.Outbound {
		r, _ := m.Dataplane(objects[n].Ref)
		return r.Outbounds[0]
	}
	was, is := called(before, 0), called(after, 0)
	if was.TCP == nil || was.TCP != is.TCP || was.Cache.Rendered() != is.Cache.Rendered() {
		t.Error("the table is another one, or what stands beside it")
	}
	if was.Cache.Listeners() == is.Cache.Listeners() || was.Listener == is.Listener {
		t.Error("other policies, and the same listeners")
	}
	if is.Cache != called(after, 1).Cache || is != called(after, 1) {
		t.Error("what two have alike stands beside each")
	}
}

// TestWhoCallsTheSameHasOneListOfIt: the lists of a dataplane cost nothing where another has
// equal ones, and come apart where what is said to one of them differs.
func TestWhoCallsTheSameHasOneListOfIt(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dataplane := func(name, address, more string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","labels":{"team":"`+name+`"},"networking":{"address":"`+address+`",`+more+`
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"db","kuma.io/protocol":"tcp"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"db"}}]}}`)
	}
	a, b := dataplane("a", "127.0.0.1", ""), dataplane("b", "127.0.0.2", "")
	redirected := dataplane("c", "127.0.0.3", `"transparentProxying":{"redirectPortOutbound":15001},`)
	said := worlds.Decode(t, c.catalog, `{"type":"MeshTimeout","mesh":"default","name":"x","spec":{"targetRef":{"kind":"Dataplane","labels":{"team":"b"}},
		"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"7s","idleTimeout":"7s"}}]}}`)
	m, _ := resolve.Compile(snapshot.New(1, a, b, redirected), c.dialects, c.kinds)
	get := func(o *api.Object) *effective.Resolved {
		r, _ := m.Dataplane(o.Ref)
		return r
	}
	one := func(x, y *effective.Resolved) [2]bool {
		return [2]bool{&x.Outbounds[0] == &y.Outbounds[0], &x.Clusters[0] == &y.Clusters[0]}
	}
	if got := one(get(a), get(b)); got != [2]bool{true, true} {
		t.Errorf("the lists of outbounds and clusters are one: %v", got)
	}
	if got := one(get(a), get(redirected)); got != [2]bool{false, true} {
		t.Errorf("with one whose traffic is redirected: %v", got)
	}
	changes := []snapshot.Change{{After: said}}
	m, _ = m.Update(m.Snapshot().With(2, changes), changes)
	if got := one(get(a), get(b)); got != [2]bool{false, false} {
		t.Errorf("when something else is said to one: %v", got)
	}
	changes = []snapshot.Change{{Before: said}}
	m, _ = m.Update(m.Snapshot().With(3, changes), changes)
	if got := one(get(a), get(b)); got != [2]bool{true, true} {
		t.Errorf("when it is said no longer: %v", got)
	}
}

// TestRulesAreComposedOnceForAllWhoHaveThem: dataplanes that a policy tells apart
// and no route does have one composition of the rules.
func TestRulesAreComposedOnceForAllWhoHaveThem(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := slices.Clone(c.dialects)
	compose, composed := dialects[0].Compose, map[int]int{}
	dialects[0].Compose = func(f route.Frontend, list []route.Candidate) route.Composition {
		composed[len(list)]++
		return compose(f, list)
	}
	objects := []*api.Object{worlds.Decode(t, c.catalog, twoRules)}
	for name, team := range map[string]string{"a": "x", "b": "y", "c": "z"} {
		objects = append(objects, worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","labels":{"team":"`+team+`"},"networking":{"address":"127.0.0.1",
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`))
	}
	for kind, top := range map[string]string{"MeshTimeout": "x", "MeshHTTPRoute": "y"} {
		to := `{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"1s"}}`
		if kind == "MeshHTTPRoute" {
			to = `{"targetRef":{"kind":"MeshService","name":"web"},"rules":[{"matches":[{"path":{"type":"Exact","value":"/c"}}],"default":{}}]}`
		}
		objects = append(objects, worlds.Decode(t, c.catalog, `{"type":"`+kind+`","mesh":"default","name":"own","spec":{"targetRef":{"kind":"Dataplane","labels":{"team":"`+top+`"}},"to":[`+to+`]}}`))
	}
	resolve.Compile(snapshot.New(1, objects...), dialects, c.kinds)
	if composed[1] != 1 || composed[2] != 1 {
		t.Errorf("composed %v times by number of candidates, want once each", composed)
	}
}

// TestMatchesOfOneRuleShareWhatHoldsForIt: the routes that a rule of several matches becomes
// hold the same policies and backends, not equal ones.
func TestMatchesOfOneRuleShareWhatHoldsForIt(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	var objects []*api.Object
	for _, text := range []string{
		`{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.1",
			"inbound":[{"port":8080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`,
		`{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[
			{"matches":[{"path":{"type":"Exact","value":"/a"}},{"path":{"type":"Exact","value":"/b"}}],"default":{"backendRefs":[{"kind":"MeshService","name":"web"}]}}]}]}}`,
		`{"type":"MeshTimeout","mesh":"default","name":"t","spec":{"targetRef":{"kind":"Mesh"},"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"1s"}}}]}}`,
	} {
		objects = append(objects, worlds.Decode(t, c.catalog, text))
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	r, ok := model.Dataplane(api.Ref{Kind: "Dataplane", Mesh: "default", Name: "a"})
	if !ok {
		t.Fatal("no dataplane")
	}
	routes := r.Outbounds[0].Table.Routes
	if len(routes) < 2 || len(routes[0].Policies) == 0 || len(routes[0].Backends) == 0 {
		t.Fatalf("%d routes, want two of the rule, with policies and backends", len(routes))
	}
	if &routes[0].Policies[0] != &routes[1].Policies[0] || &routes[0].Backends[0] != &routes[1].Backends[0] {
		t.Error("each match has its own")
	}
}

// TestOneRuleLeavesTheOtherRoutes: where one rule of a route changes, a table has the
// routes before and behind it that it had.
func TestOneRuleLeavesTheOtherRoutes(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	decode := func(text string) *api.Object { return worlds.Decode(t, c.catalog, text) }
	said := func(header string) *api.Object {
		rule := func(path, header string) string {
			return `{"matches":[{"path":{"type":"Exact","value":"` + path + `"}}],"default":{"filters":[{"type":"RequestHeaderModifier","requestHeaderModifier":{"remove":["` + header + `"]}}]}}`
		}
		return decode(`{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[` +
			rule("/long/path", "x") + `,` + rule("/middle", header) + `,` + rule("/end", "x") + `]}]}}`)
	}
	plane := decode(`{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.1",
		"inbound":[{"port":8080,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`)
	old := said("one")
	before, _ := resolve.Compile(snapshot.New(1, plane, old), c.dialects, c.kinds)
	change := []snapshot.Change{{Before: old, After: said("two")}}
	after, _ := before.Update(before.Snapshot().With(2, change), change)
	routes := func(m *resolve.Model) []*effective.Route {
		r, _ := m.Dataplane(plane.Ref)
		return r.Outbounds[0].Table.Routes
	}
	was, is := routes(before), routes(after)
	if len(was) != 4 || len(is) != 4 {
		t.Fatalf("there are %d and %d routes, want 4", len(was), len(is))
	}
	for i := range was {
		if (was[i] == is[i]) != (i != 1) {
			t.Errorf("route %d, %s, is the one before: %t", i, is[i].Key, was[i] == is[i])
		}
	}
}
