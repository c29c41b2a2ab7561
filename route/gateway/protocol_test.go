package gateway_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
)

// TestWritingDownAKnownProtocol: where a route knew the protocol of a port, to write it
// down changes nothing for those who call the port by the route, and back.
func TestWritingDownAKnownProtocol(t *testing.T) {
	t.Parallel()
	read := func(text string) []*api.Object {
		objects, found := world.Decode("shop.yaml", []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		return objects
	}
	guessed, written := read(service("web", "", 0))[0], read(service("web", "http", 0))[0]
	m, _ := world.Compile(world.Snapshot(append(read(`
{type: Dataplane, mesh: default, name: client, labels: {k8s.kuma.io/namespace: shop}, networking: {address: 127.0.0.1, outbound: [{port: 10001, backendRef: {kind: MeshService, name: web, port: 80}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [{backendRefs: [{name: v1, port: 80}]}]}}
`+service("v1", "http", 8080)), guessed)...))
	for i, change := range []snapshot.Change{{Before: guessed, After: written}, {Before: written, After: guessed}} {
		next, affected := m.Update(m.Snapshot().With(uint64(i+2), []snapshot.Change{change}), []snapshot.Change{change})
		if len(affected.Dataplanes) > 0 {
			t.Errorf("change %d affects %v", i, affected.Dataplanes)
		}
		m = next
	}
}
