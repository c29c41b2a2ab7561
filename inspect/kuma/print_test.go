package kuma_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestPrintsAsEncodingJSON: what a view prints itself is what encoding/json prints of it, also after
// changes, when it knows the names of objects from an earlier model.
func TestPrintsAsEncodingJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), 5)
		m, _ := world.Compile(s)
		for step := range 3 {
			if step > 0 {
				changes := worlds.Changes(t, world.Catalog(), s)
				s = s.With(s.Revision()+1, changes)
				m, _ = m.Update(s, changes)
			}
			for r := range m.Dataplanes("") {
				view, err := kuma.Rules(m.Reader(nil), world.Catalog(), r.Ref)
				if err != nil {
					t.Fatal(err)
				}
				want, err := json.Marshal(view)
				if err != nil {
					t.Fatal(err)
				}
				got, err := view.AppendJSON(nil)
				if err != nil || string(got) != string(want) {
					t.Fatalf("%s prints %v\n%s\nand not\n%s", r.Ref, err, got, want)
				}
			}
		}
	})
}
