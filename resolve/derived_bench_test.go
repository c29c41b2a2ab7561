package resolve_test

import (
	"runtime"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// wholeMesh is a mesh of the size that benchmarks have, the model before it, and what
// leads from one to the other.
func wholeMesh(b *testing.B, c *composition) (*api.Snapshot, *resolve.Model, []api.Change) {
	b.Helper()
	s := worlds.Mesh(b, c.catalog)
	empty, _ := resolve.Compile(api.NewSnapshot(0), c.dialects, c.kinds)
	var changes []api.Change
	for o := range s.All() {
		changes = append(changes, api.Change{After: o})
	}
	return s, empty, changes
}

func BenchmarkDerivedCompile(b *testing.B) {
	c := newComposition(b)
	s, empty, changes := wholeMesh(b, c)
	b.Run("old", func(b *testing.B) {
		b.ReportAllocs()
		var m *resolve.Model
		before := heap()
		for b.Loop() {
			m = nil
			m, _ = empty.Update(s, changes)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		runtime.KeepAlive(m)
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		var m *resolve.Derived
		before := heap()
		for b.Loop() {
			m = nil
			m, _ = resolve.NewDerived(empty).Update(changes)
		}
		b.ReportMetric(float64(heap()-before)/1e6, "MB")
		b.ReportMetric(float64(m.Reads()), "reads")
	})
}

func BenchmarkDerivedUpdate(b *testing.B) {
	c := newComposition(b)
	s, empty, changes := wholeMesh(b, c)
	model, _ := empty.Update(s, changes)
	derived, _ := resolve.NewDerived(empty).Update(changes)
	var versions []*api.Object
	for n := range 2 {
		versions = append(versions, worlds.MeshRetry(b, c.catalog, 13, 1, 3+n))
	}
	n := 0
	b.Run("old", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			change := []api.Change{{Before: versions[(i+1)%2], After: versions[i%2]}}
			next, a := model.Update(model.Snapshot().With(uint64(i), change), change)
			model, n = next, len(a.Dataplanes)
		}
		b.ReportMetric(float64(n), "sidecars/op")
	})
	b.Run("new", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			change := []api.Change{{Before: versions[(i+1)%2], After: versions[i%2]}}
			next, a := derived.Update(change)
			derived, n = next, len(a.Dataplanes)
		}
		b.ReportMetric(float64(n), "sidecars/op")
	})
}
