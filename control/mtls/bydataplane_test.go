package mtls

import (
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
)

// TestByDataplane: it says what a map by whole Refs says, whatever is set and dropped, and keeps no
// room for meshes that nobody is in.
func TestByDataplane(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var m byDataplane[int]
		want := map[api.Ref]int{}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			text := rapid.SampledFrom([]string{"", "a", "b"})
			dp := api.Ref{Kind: api.KindDataplane, Mesh: text.Draw(t, "mesh"), Namespace: text.Draw(t, "namespace"), Name: text.Draw(t, "name")}
			if rapid.Bool().Draw(t, "drop") {
				m.drop(dp)
				delete(want, dp)
			} else {
				m.set(dp, n+1)
				want[dp] = n + 1
			}
			if m.get(dp) != want[dp] || m.n != len(want) {
				t.Fatalf("%v is %d of %d, not %d of %d", dp, m.get(dp), m.n, want[dp], len(want))
			}
		}
		if got := maps.Collect(m.all()); !maps.Equal(got, want) {
			t.Fatalf("%v, not %v", got, want)
		}
		for dp := range m.all() {
			m.drop(dp)
		}
		if m.n != 0 || len(m.homes) != 0 {
			t.Fatalf("%d are left in %v", m.n, m.homes)
		}
	})
}
