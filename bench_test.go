package weft_test

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds"
)

// The mesh of the benchmarks: every service has five routes of one rule and
// five policies on them, and every second sidecar's team gets a policy of its own.
const (
	benchServices = 1000
	benchPerEach  = 5
	benchPlanes   = 1000
	benchOuts     = 20
)

func benchSnapshot(b *testing.B) *api.Snapshot {
	b.Helper()
	catalog := world.Catalog()
	var objects []*api.Object
	add := func(format string, args ...any) {
		list, err := decode.Objects(catalog, "bench.yaml", fmt.Appendf(nil, format, args...))
		if err != nil {
			b.Fatal(err)
		}
		objects = append(objects, list...)
	}
	add(`{"type":"Mesh","name":"default","meshServices":{"mode":"Exclusive"}}`)
	for s := range benchServices {
		add(`{"type":"MeshService","mesh":"default","name":"svc-%d","labels":{"app":"svc-%d"},"spec":{"selector":{"dataplaneLabels":{"matchLabels":{"app":"svc-%d"}}},"ports":[{"port":8080,"appProtocol":"http"}]}}`, s, s, s)
		for r := range benchPerEach {
			add(`{"type":"MeshHTTPRoute","mesh":"default","name":"route-%d-%d","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"svc-%d"},"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/v%d"}}],"default":{"backendRefs":[{"kind":"MeshService","name":"svc-%d","port":8080,"weight":90},{"kind":"MeshService","name":"svc-%d","port":8080,"weight":10}]}}]}]}}`,
				s, r, s, r, s, (s+1)%benchServices)
			add("%s", benchRetry(s, r, 2))
		}
	}
	for p := range benchPlanes {
		outs := ""
		for k := range benchOuts {
			outs += fmt.Sprintf(`{"port":%d,"backendRef":{"kind":"MeshService","name":"svc-%d","port":8080}},`, 20000+k, (p+k*7+1)%benchServices)
		}
		add(`{"type":"Dataplane","mesh":"default","name":"dp-%d","labels":{"app":"svc-%d"},"networking":{"address":"127.1.%d.%d","inbound":[{"port":8080,"name":"main","tags":{"kuma.io/service":"svc-%d","kuma.io/protocol":"http"}}],"outbound":[%s]}}`,
			p, p%benchServices, p/250, p%250+1, p%benchServices, outs[:len(outs)-1])
	}
	return api.NewSnapshot(1, objects...)
}

func benchRetry(service, r, retries int) string {
	top := `{"kind":"Mesh"}`
	if r == 0 {
		top = fmt.Sprintf(`{"kind":"Dataplane","labels":{"app":"svc-%d"}}`, (service+1)%benchServices)
	}
	return fmt.Sprintf(`{"type":"MeshRetry","mesh":"default","name":"retry-%d-%d","spec":{"targetRef":%s,"to":[{"targetRef":{"kind":"MeshHTTPRoute","name":"route-%d-%d"},"default":{"http":{"numRetries":%d,"retryOn":["5xx"]}}}]}}`,
		service, r, top, service, r, retries)
}

// BenchmarkCompile resolves 1,000 services, 5,000 routes, 5,000 policies and
// 1,000 sidecars with 20 outbounds each from nothing.
func BenchmarkCompile(b *testing.B) {
	s := benchSnapshot(b)
	b.ResetTimer()
	for b.Loop() {
		resolve.Compile(s, world.Dialects(), world.Kinds())
	}
}

// BenchmarkUpdate resolves one changed policy in the same mesh.
func BenchmarkUpdate(b *testing.B) {
	s := benchSnapshot(b)
	model, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
	catalog := world.Catalog()
	var versions []*api.Object
	for n := range 2 {
		list, err := decode.Objects(catalog, "bench.yaml", []byte(benchRetry(13, 1, 3+n)))
		if err != nil {
			b.Fatal(err)
		}
		versions = append(versions, list[0])
	}
	affected := 0
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		before, _ := model.Snapshot().Get(versions[0].Ref)
		change := []api.Change{{Before: before, After: versions[i%2]}}
		next, a := model.Update(model.Snapshot().With(uint64(i), change), change)
		model, affected = next, len(a.Dataplanes)
	}
	b.ReportMetric(float64(affected), "sidecars/op")
}

// BenchmarkSimulate answers one request from a resolved dataplane.
func BenchmarkSimulate(b *testing.B) {
	model, _ := resolve.Compile(benchSnapshot(b), world.Dialects(), world.Kinds())
	from := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-0"}
	q := sim.Request{Method: "GET", URL: "http://127.0.0.1:20000/v3/items?q=1"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sim.Run(model, from, q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenderTable renders one route table from nothing.
func BenchmarkRenderTable(b *testing.B) {
	s := benchSnapshot(b)
	model, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
	r, _ := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-0"})
	b.ReportAllocs()
	for b.Loop() {
		t := &resolve.Table{Destination: r.Outbounds[0].Table.Destination, Routes: r.Outbounds[0].Table.Routes}
		xds.RenderTable(t)
	}
}
