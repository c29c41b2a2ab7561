package snapshot_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// TestCountsAreOfWhatIsThere: after any changes, also of objects that were there
// already or never, the counts are those of the lists.
func TestCountsAreOfWhatIsThere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot.New(1, objectsOf(t)...)
		for step := range rapid.IntRange(0, 5).Draw(t, "steps") {
			var changes []snapshot.Change
			for _, o := range objectsOf(t) {
				if rapid.Bool().Draw(t, "delete") {
					changes = append(changes, snapshot.Change{Before: o})
				} else {
					changes = append(changes, snapshot.Change{After: o})
				}
			}
			s = s.With(uint64(step+2), changes)
		}
		for _, kind := range kindNames {
			all := 0
			for _, mesh := range meshNames {
				n := 0
				for range s.Of(kind, mesh) {
					n++
				}
				if got := s.Count(kind, mesh); got != n {
					t.Fatalf("%d objects of %s in mesh %q, counted %d", n, kind, mesh, got)
				}
				all += n
			}
			if got := s.CountOfKind(kind); got != all {
				t.Fatalf("%d objects of %s, counted %d", all, kind, got)
			}
		}
	})
}

// One kind begins like the other, and one mesh like the other.
var (
	kindNames = []string{"Mesh", "MeshService"}
	meshNames = []string{"", "a", "ab"}
)

func objectsOf(t *rapid.T) []*api.Object {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	var out []*api.Object
	for range rapid.IntRange(0, 6).Draw(t, "objects") {
		out = append(out, &api.Object{Ref: api.Ref{Kind: pick("kind", kindNames...), Mesh: pick("mesh", meshNames...), Name: pick("name", "x", "y")}})
	}
	return out
}
