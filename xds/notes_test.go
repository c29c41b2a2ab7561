package xds_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// What a rendering has to say is known without rendering: before and after it.
func TestNotesAreThoseOfRendering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), 4)
		m, _ := world.Compile(s)
		x := renderer()
		for r := range m.Dataplanes("") {
			before := noteTexts(x.Notes(r))
			want := noteTexts(x.Render(r).Notes)
			if diff := cmp.Diff(want, before); diff != "" {
				t.Fatalf("%s: rendering (-) says other than what is known without it (+):\n%s", r.Ref, diff)
			}
			if diff := cmp.Diff(want, noteTexts(x.Notes(r))); diff != "" {
				t.Fatalf("%s, after rendering:\n%s", r.Ref, diff)
			}
		}
	})
}

func noteTexts(notes []api.Note) []string {
	out := []string{}
	for _, n := range notes {
		text := n.Code + " " + string(n.Field) + " " + n.Message
		if n.Origin != nil {
			text = n.Origin.Ref.String() + " " + string(n.Origin.Field) + " " + text
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
