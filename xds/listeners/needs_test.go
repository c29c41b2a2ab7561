package listeners_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/xds"
)

// TestNeedsAreToldOnce: a listener names each cluster that it leads to once, in the order of their names: by these a
// stream finds whether all are there before the listener goes out.
func TestNeedsAreToldOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m, _ := world.Compile(worlds.Snapshot(t, world.Catalog(), rapid.IntRange(2, 6).Draw(t, "steps")))
		x := xds.NewRenderer(world.Kinds()).Reporting()
		for r := range m.Dataplanes("") {
			for _, l := range x.Render(r).Listeners {
				if once := slices.Compact(slices.Sorted(slices.Values(l.Clusters))); !slices.Equal(l.Clusters, once) {
					t.Fatalf("%s: %s needs %v", r.Ref, l.Name, l.Clusters)
				}
			}
		}
	})
}
