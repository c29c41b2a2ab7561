package resolve_test

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestAnObjectLeftOutStaysOut: an object that once made the resolver fail is in
// the snapshot but in no model, and does not come back when its mesh is resolved
// anew because of another change.
func TestAnObjectLeftOutStaysOut(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := c.panickingAt("bad")
	mesh := func(mode string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"Mesh","name":"default","meshServices":{"mode":"`+mode+`"}}`)
	}
	plane := func(name string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"`+name+`","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}`)
	}
	bad := worlds.Decode(t, c.catalog, `{"type":"MeshHTTPRoute","mesh":"default","name":"bad","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},"rules":[{"matches":[{"path":{"type":"Exact","value":"/"}}],"default":{}}]}]}}`)
	before, after, gone := mesh("Disabled"), mesh("Exclusive"), plane("gone")
	s := api.NewSnapshot(1, before, plane("kept"), gone)
	model, _ := resolve.Compile(s, dialects, c.kinds)
	s = s.With(2, []api.Change{{After: bad}}) // which no model takes
	changes := []api.Change{{Before: gone}, {After: plane("new")}, {Before: before, After: after}}
	s = s.With(3, changes)
	next, affected := model.Update(s, changes)
	for name, want := range map[string]bool{"kept": true, "new": true, "gone": false} {
		ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}
		if _, ok := next.Dataplane(ref); ok != want || !slices.Contains(affected.Dataplanes, ref) {
			t.Errorf("%s: resolved %v, affected %v", name, ok, affected.Dataplanes)
		}
	}
}
