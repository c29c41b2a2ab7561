package worlds

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
)

// The mesh of the benchmarks: every service has five routes of one rule and
// five policies on them, and every second sidecar's team gets a policy of its own.
const (
	meshServices = 1000
	meshPerEach  = 5
	meshPlanes   = 1000 // of Mesh
	meshOuts     = 20
)

// Mesh is the documents of 1,000 services, 5,000 routes, 5,000 policies and 1,000
// sidecars with 20 outbounds each.
func Mesh(t Fataler, catalog *api.Catalog) *snapshot.Snapshot {
	t.Helper()
	return snapshot.New(1, MeshOf(t, catalog, meshPlanes)...)
}

// MeshOf is the documents of such a mesh with so many sidecars.
func MeshOf(t Fataler, catalog *api.Catalog, planes int) []*api.Object {
	t.Helper()
	var objects []*api.Object
	add := func(format string, args ...any) {
		list, err := decode.Objects(catalog, "bench.yaml", fmt.Appendf(nil, format, args...))
		if err != nil {
			t.Fatalf("%v", err)
		}
		objects = append(objects, list...)
	}
	add(`{"type":"Mesh","name":"default","meshServices":{"mode":"Exclusive"}}`)
	for s := range meshServices {
		add(`{"type":"MeshService","mesh":"default","name":"svc-%d","labels":{"app":"svc-%d"},"spec":{"selector":{"dataplaneLabels":{"matchLabels":{"app":"svc-%d"}}},"ports":[{"port":8080,"appProtocol":"http"}]}}`, s, s, s)
		for r := range meshPerEach {
			add(`{"type":"MeshHTTPRoute","mesh":"default","name":"route-%d-%d","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"svc-%d"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/v%d"}}],"default":{"backendRefs":[{"kind":"MeshService","name":"svc-%d","port":8080,"weight":90},{"kind":"MeshService","name":"svc-%d","port":8080,"weight":10}]}}]}]}}`,
				s, r, s, r, s, (s+1)%meshServices)
			objects = append(objects, MeshRetry(t, catalog, s, r, 2))
		}
	}
	for p := range planes {
		outs := ""
		for k := range meshOuts {
			outs += fmt.Sprintf(`{"port":%d,"backendRef":{"kind":"MeshService","name":"svc-%d","port":8080}},`, 20000+k, (p+k*7+1)%meshServices)
		}
		add(`{"type":"Dataplane","mesh":"default","name":"dp-%d","labels":{"app":"svc-%d"},"networking":{"address":"127.1.%d.%d","inbound":[{"port":8080,"name":"main","tags":{"kuma.io/service":"svc-%d","kuma.io/protocol":"http"}}],"outbound":[%s]}}`,
			p, p%meshServices, p/250, p%250+1, p%meshServices, outs[:len(outs)-1])
	}
	return objects
}

// MeshRetry is the policy of Mesh on route r of a service, with so many retries.
func MeshRetry(t Fataler, catalog *api.Catalog, service, r, retries int) *api.Object {
	t.Helper()
	top := `{"kind":"Mesh"}`
	if r == 0 {
		top = fmt.Sprintf(`{"kind":"Dataplane","labels":{"app":"svc-%d"}}`, (service+1)%meshServices)
	}
	return Decode(t, catalog, fmt.Sprintf(`{"type":"MeshRetry","mesh":"default","name":"retry-%d-%d","spec":{"targetRef":%s,"to":[{"targetRef":{"kind":"MeshHTTPRoute","name":"route-%d-%d"},"default":{"http":{"numRetries":%d,"retryOn":["5xx"]}}}]}}`,
		service, r, top, service, r, retries))
}
