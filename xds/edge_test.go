package xds_test

import (
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// TestAnEdgeKeepsItsListeners: what an edge dataplane listens with, for requests and for whole connections, stays
// one resource while nothing is said about it, whatever else changes, and is another one when the dataplane is of
// another service, of which it tells.
func TestAnEdgeKeepsItsListeners(t *testing.T) {
	t.Parallel()
	const edge = `{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: infra, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 10.9.0.1, gateway: {type: BUILTIN, tags: {kuma.io/service: public}}}}`
	const other = `{type: Dataplane, mesh: default, name: web, networking: {address: 10.9.0.2, inbound: [{port: 80, tags: {kuma.io/service: web}}]}}`
	decoded := func(documents ...string) []*api.Object {
		t.Helper()
		objects, wrong := world.Decode("edge.yaml", []byte(strings.Join(documents, "\n---\n")))
		for _, v := range wrong {
			if v.Severity == api.Error {
				t.Fatal(v)
			}
		}
		return objects
	}
	s := world.Snapshot(decoded(edge, `
{apiVersion: v1, kind: Service, metadata: {name: db, namespace: infra}, spec: {ports: [{port: 5432}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: infra}, spec: {gatewayClassName: weft, listeners: [{name: sql, port: 5432, protocol: TCP}, {name: web, port: 80, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: sql, namespace: infra}, spec: {parentRefs: [{name: public, sectionName: sql}], rules: [{backendRefs: [{name: db, port: 5432}]}]}}
`)...)
	m, _ := world.Compile(s)
	x := renderer()
	before := listenersOf(t, x, m, "edge")
	if len(before) != 2 {
		t.Fatalf("the edge listens at %v, not at two ports", before)
	}
	for _, c := range []struct {
		what    string
		changed string
		kept    bool
	}{{"is asked for again", edge, true}, {"has another one beside it", other, true}, {"is of another service", strings.Replace(edge, "service: public", "service: private", 1), false}} {
		var changes []snapshot.Change
		for _, o := range decoded(c.changed) {
			was, _ := s.Get(o.Ref)
			changes = append(changes, snapshot.Change{Before: was, After: o})
		}
		s = s.With(s.Revision()+1, changes)
		m, _ = m.Update(s, changes)
		for at, l := range listenersOf(t, x, m, "edge") {
			if (l == before[at]) != c.kept {
				t.Errorf("an edge that %s keeps the listener %s: %v", c.what, at, !c.kept)
			}
		}
	}
}

// listenersOf are those of a dataplane, by name.
func listenersOf(t *testing.T, x *xds.Renderer, m *resolve.Model, name string) map[string]*resource.Resource {
	t.Helper()
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	out := map[string]*resource.Resource{}
	for _, l := range x.Render(r).Listeners {
		out[l.Name] = l
	}
	return out
}
