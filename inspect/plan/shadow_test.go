package plan_test

import (
	"maps"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// With its shadow policies and routes a mesh has the configuration that it would have if
// nobody had called them so; and what holds does not change by the question.
func TestShadowsTakePartAsOthersDo(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		catalog := world.Catalog()
		plain := snapshot.New(0)
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			plain = plain.With(uint64(i+1), worlds.Changes(t, catalog, plain))
		}
		written, active := plain, plain
		for o := range plain.All() {
			typ, _ := catalog.Type(o.Kind)
			if o.Mesh != api.DefaultMesh || !typ.Policy && !typ.Route {
				continue
			}
			if rapid.Bool().Draw(t, "shadow "+o.Ref.String()) {
				written = labelled(written, o, "shadow")
			}
			active = labelled(active, o, "")
		}
		model, _ := world.Compile(written)
		before, want := rendered(written), rendered(active)
		after := plan.WithShadow(model.Reader(nil), api.DefaultMesh)
		for ref, resources := range want {
			r, _ := after.Dataplane(ref)
			if diff := gocmp.Diff(resources, versions(world.Settings{}.Renderer().Render(r))); diff != "" {
				t.Fatalf("%s, if nobody had called them shadows (-) and with shadows (+):\n%s", ref, diff)
			}
		}
		for ref, resources := range before {
			r, _ := model.Dataplane(ref)
			if diff := gocmp.Diff(resources, versions(world.Settings{}.Renderer().Render(r))); diff != "" {
				t.Fatalf("what holds at %s is another after the question:\n%s", ref, diff)
			}
		}
	})
}

// Once somebody has asked, the configuration with shadows follows what changes: it is that of a
// model in which nobody asked before.
func TestShadowsFollowChanges(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		catalog := world.Catalog()
		s := snapshot.New(0)
		model, _ := world.Compile(s)
		for i := range rapid.IntRange(2, 10).Draw(t, "steps") {
			changes := worlds.Changes(t, catalog, s)
			s = s.With(uint64(i+1), changes)
			model, _ = model.Update(s, changes)
			if rapid.IntRange(0, 2).Draw(t, "unasked") == 0 {
				continue
			}
			fresh, _ := world.Compile(s)
			want, got := plan.WithShadow(fresh.Reader(nil), api.DefaultMesh), plan.WithShadow(model.Reader(nil), api.DefaultMesh)
			if diff := gocmp.Diff(versionsIn(want), versionsIn(got)); diff != "" {
				t.Fatalf("step %d: asked first (-) and followed (+):\n%s", i, diff)
			}
			if (want == fresh) != (got == model) {
				t.Fatalf("step %d: without shadows the model is its own: %t, followed: %t", i, want == fresh, got == model)
			}
			if want, got := want.Written().Revision(), got.Written().Revision(); want != got {
				t.Fatalf("step %d: at revision %d, followed at %d", i, want, got)
			}
		}
	})
}

// versionsIn are those of the resources of all dataplanes.
func versionsIn(m *resolve.Model) map[api.Ref]map[string]string {
	out, x := map[api.Ref]map[string]string{}, world.Settings{}.Renderer()
	for r := range m.Dataplanes("") {
		out[r.Ref] = versions(x.Render(r))
	}
	return out
}

// labelled is s in which o has that value of the label, none where it is empty.
func labelled(s *snapshot.Snapshot, o *api.Object, effect string) *snapshot.Snapshot {
	other := *o
	other.Labels = maps.Clone(o.Labels)
	delete(other.Labels, api.LabelEffect)
	if effect != "" {
		if other.Labels == nil {
			other.Labels = map[string]string{}
		}
		other.Labels[api.LabelEffect] = effect
	}
	now, _ := s.Get(o.Ref)
	return s.With(s.Revision()+1, []snapshot.Change{{Before: now, After: &other}})
}
