package weft_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/routes"
)

// BenchmarkCompile resolves 1,000 services, 5,000 routes, 5,000 policies and
// 1,000 sidecars with 20 outbounds each from nothing.
func BenchmarkCompile(b *testing.B) {
	s := worlds.Mesh(b, world.Catalog())
	b.ResetTimer()
	for b.Loop() {
		resolve.Compile(s, world.Dialects(), world.Kinds())
	}
}

// BenchmarkUpdate resolves one changed policy in the same mesh.
func BenchmarkUpdate(b *testing.B) {
	s := worlds.Mesh(b, world.Catalog())
	model, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
	catalog := world.Catalog()
	var versions []*api.Object
	for n := range 2 {
		versions = append(versions, worlds.MeshRetry(b, catalog, 13, 1, 3+n))
	}
	affected := 0
	b.ResetTimer()
	for i := 0; b.Loop(); i++ {
		before, _ := model.Snapshot().Get(versions[0].Ref)
		change := []snapshot.Change{{Before: before, After: versions[i%2]}}
		next, a := model.Update(model.Snapshot().With(uint64(i), change), change)
		model, affected = next, len(a.Dataplanes)
	}
	b.ReportMetric(float64(affected), "sidecars/op")
}

// BenchmarkSimulate answers one request from a resolved dataplane.
func BenchmarkSimulate(b *testing.B) {
	model, _ := resolve.Compile(worlds.Mesh(b, world.Catalog()), world.Dialects(), world.Kinds())
	from := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-0"}
	q := wire.Request{Method: "GET", URL: "http://127.0.0.1:20000/v3/items?q=1"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := sim.Run(model, from, q); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRenderTable renders one route table from nothing.
func BenchmarkRenderTable(b *testing.B) {
	s := worlds.Mesh(b, world.Catalog())
	model, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
	r, _ := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-0"})
	b.ReportAllocs()
	for b.Loop() {
		t := &effective.Table{Destination: r.Outbounds[0].Table.Destination, Routes: r.Outbounds[0].Table.Routes}
		routes.RenderTable(t, nil)
	}
}

// BenchmarkRender puts together a sidecar of which nothing has changed.
func BenchmarkRender(b *testing.B) {
	model, _ := resolve.Compile(worlds.Mesh(b, world.Catalog()), world.Dialects(), world.Kinds())
	r, _ := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "dp-0"})
	renderer := xds.NewRenderer(world.Kinds())
	b.ReportAllocs()
	for b.Loop() {
		renderer.Render(r)
	}
}
