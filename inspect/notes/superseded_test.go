package notes_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestNotesThatFollowChanges: what is said of all objects while documents change, whenever somebody
// asks, is what is found by looking at everything anew.
func TestNotesThatFollowChanges(t *testing.T) {
	t.Parallel()
	lost := 0 // notes on what is lost at dataplanes
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot.New(0)
		m, _ := world.Compile(s)
		for i := range 8 {
			changes := worlds.Changes(t, world.Catalog(), s)
			s = s.With(uint64(i+1), changes)
			m, _ = m.Update(s, changes)
			if rapid.IntRange(0, 2).Draw(t, "asks") == 0 {
				continue
			}
			clean, _ := world.Compile(s)
			want, got := notes.AllAnew(clean.Reader(nil)), notes.All(m.Reader(nil))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("found anew (-) and followed (+):\n%s", diff)
			}
			for _, n := range got {
				if n.Code == api.CodeNoEffect {
					lost++
				}
			}
		}
	})
	if lost == 0 {
		t.Error("nothing is lost at any dataplane, which proves nothing")
	}
}
