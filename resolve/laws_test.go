package resolve_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// TestUpdateEqualsCompile: after any sequence of changes the model derived step
// by step says and keeps the same as one compiled from nothing, and names exactly
// the dataplanes that came out different.
func TestUpdateEqualsCompile(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshot.New(0)
		model, _ := resolve.Compile(snapshot, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			changes := worlds.Changes(t, c.catalog, snapshot)
			snapshot = snapshot.With(uint64(step+1), changes)
			next, affected := model.Update(snapshot, changes)
			clean, _ := resolve.Compile(snapshot, c.dialects, c.kinds)
			if diff := cmp.Diff(resolvetest.Dump(clean), resolvetest.Dump(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			if diff := cmp.Diff(clean.Kept(), next.Kept()); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) keep different things:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			checkSelected(t, next)
			checkReach(t, next)
			if rapid.IntRange(0, 2).Draw(t, "asked") > 0 { // else what is asked next follows more than one change
				checkNotes(t, next)
			}
			checkPlaces(t, model, next)
			checkNames(t, model, next)
			model = next
		}
	})
}

// checkAffected holds that affected are the dataplanes with a new value, and that
// a new value says something new.
func checkAffected(t worlds.Fataler, before, after *resolve.Model, affected resolve.Affected, changes []snapshot.Change) {
	t.Helper()
	pointers := map[api.Ref]*effective.Resolved{}
	for r := range before.Dataplanes("") {
		pointers[r.Ref] = r
	}
	for r := range after.Dataplanes("") {
		old := pointers[r.Ref]
		delete(pointers, r.Ref)
		if (old == r) == slices.Contains(affected.Dataplanes, r.Ref) {
			t.Fatalf("%s: same value %v, but affected are %v", r.Ref, old == r, affected.Dataplanes)
		}
		if old != nil && old != r && old.Dataplane == r.Dataplane && cmp.Equal(old, r, cmpopts.IgnoreTypes(&effective.Derived{}, &effective.Cache{}, &policies.Kind{}),
			cmp.Comparer(func(a, b *trafficpermission.Permissions) bool { return a == b })) {
			t.Fatalf("%s came out as before, but is affected: %s", r.Ref, describe(changes))
		}
	}
	for gone := range pointers {
		if !slices.Contains(affected.Dataplanes, gone) {
			t.Fatalf("%s is gone, but affected are %v", gone, affected.Dataplanes)
		}
	}
}

// checkSelected holds that the index of what dataplanes carry leads to all that
// objects select, and to nothing else.
func checkSelected(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	for o := range m.Snapshot().All() {
		if got, want := m.Reader(nil).Selected(o.Ref), m.SelectedByLooking(o.Ref); !slices.Equal(got, want) {
			t.Fatalf("%s selects %v by the index, %v by looking", o.Ref, got, want)
		}
	}
}

// checkReach holds that following an object leads to exactly those dataplanes on
// which it takes part, and to the same places where nobody asks for the dataplanes.
func checkReach(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	want := map[api.Ref][]api.Ref{}
	for r := range m.Dataplanes("") {
		for _, ref := range r.Objects() {
			want[ref] = append(want[ref], r.Ref)
		}
	}
	byMesh, said := map[string][]api.Ref{}, map[api.Ref][]string{}
	for o := range m.Snapshot().All() {
		byMesh[o.Mesh] = append(byMesh[o.Mesh], o.Ref)
		var got []api.Ref
		told := m.Reader(nil).ImpactOf(o.Mesh, []api.Ref{o.Ref}, func(_, _ int, r *effective.Resolved, p impact.Presence) {
			said[o.Ref] = append(said[o.Ref], fmt.Sprint(r.Ref, p))
			if p != impact.Lacks {
				got = append(got, r.Ref)
			}
		})
		if !slices.Equal(got, want[o.Ref]) {
			t.Fatalf("%s takes part on %v, but leads to %v", o.Ref, want[o.Ref], got)
		}
		if diff := cmp.Diff(became(told[0]), became(m.Reader(nil).ImpactOf(o.Mesh, []api.Ref{o.Ref}, nil)[0])); diff != "" {
			t.Fatalf("%s on its dataplanes (-) and at its places alone (+):\n%s", o.Ref, diff)
		}
	}
	together := map[api.Ref][]string{}
	for mesh, refs := range byMesh {
		m.Reader(nil).ImpactOf(mesh, refs, func(n, _ int, r *effective.Resolved, p impact.Presence) {
			together[refs[n]] = append(together[refs[n]], fmt.Sprint(r.Ref, p))
		})
	}
	if diff := cmp.Diff(said, together); diff != "" {
		t.Fatalf("asked about one by one (-) and together (+):\n%s", diff)
	}
}

// became is what became of an object, and where; a place by the dataplane that is asked about it.
func became(x *impact.Impact) (out []string) {
	for _, e := range x.Entries {
		out = append(out, fmt.Sprint(e.Field, e.Acts, e.Idle, e.Why, e.FiltersBy, e.ActionBy, " by "))
		for _, by := range e.By {
			out = append(out, fmt.Sprint(*by))
		}
	}
	for _, p := range x.Placements {
		out = append(out, fmt.Sprint(p.At.Ref, p))
	}
	return out
}

// checkNotes holds that what is worked out for a whole mesh at once is what is said
// of each object.
func checkNotes(t worlds.Fataler, m *resolve.Model) {
	t.Helper()
	one, all := map[api.Ref][]api.Note{}, map[api.Ref][]api.Note{}
	q := m.Reader(nil)
	for o := range m.Snapshot().All() {
		one[o.Ref] = q.NotesOn(o.Ref)
	}
	for o := range m.Snapshot().All() {
		q.AllNotes(o.Mesh)
		all[o.Ref] = q.NotesOn(o.Ref)
	}
	if diff := cmp.Diff(one, all); diff != "" {
		t.Fatalf("asked one by one (-) and together (+):\n%s", diff)
	}
	var want, got []string
	text := func(n api.Note) string { return fmt.Sprint(n.Origin, n.Severity, n.Code, n.Field, n.Message) }
	for _, notes := range one {
		for _, n := range notes {
			want = append(want, text(n))
		}
	}
	for n := range q.AllNoted() {
		got = append(got, text(n))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("asked one by one (-) and of all at once (+):\n%s", diff)
	}
	for o := range m.Snapshot().All() {
		if diff := cmp.Diff(one[o.Ref], q.NotesOn(o.Ref)); diff != "" {
			t.Fatalf("%s: asked before (-) and after all notes are known (+):\n%s", o.Ref, diff)
		}
	}
}

// checkPlaces holds that places that follow changes are those that are found anew.
func checkPlaces(t worlds.Fataler, before, after *resolve.Model) {
	t.Helper()
	for mesh := range after.Reader(nil).MeshNames() {
		if diff := after.PlacesAfter(before, mesh); diff != "" {
			t.Fatalf("places of %s found anew (-) and followed (+):\n%s", mesh, diff)
		}
	}
}

// TestBranchesDoNotDisturbEachOther: a preview derived from a model leaves the
// model, and what others derive from it, as they are.
func TestBranchesDoNotDisturbEachOther(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		base := worlds.Snapshot(t, c.catalog, 3)
		model, _ := resolve.Compile(base, c.dialects, c.kinds)
		before := resolvetest.Dump(model)
		for range 3 {
			changes := worlds.Changes(t, c.catalog, base)
			s := base.With(9, changes)
			branch, _ := model.Update(s, changes)
			clean, _ := resolve.Compile(s, c.dialects, c.kinds)
			if diff := cmp.Diff(resolvetest.Dump(clean), resolvetest.Dump(branch)); diff != "" {
				t.Fatalf("branch differs:\n%s", diff)
			}
		}
		if diff := cmp.Diff(before, resolvetest.Dump(model)); diff != "" {
			t.Fatalf("the base changed:\n%s", diff)
		}
	})
}

// TestUnrelatedPolicyTouchesNothing: a policy about one destination leaves the
// shared values of every other destination in place, pointer by pointer.
func TestUnrelatedPolicyTouchesNothing(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, c.catalog, 4)
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		name := rapid.SampledFrom(worlds.ServiceNames).Draw(t, "service")
		o := worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshTimeout","mesh":"default","name":"extra","spec":{"to":[{"targetRef":{"kind":"MeshService","name":%q},"default":{"http":{"requestTimeout":"77s"}}}]}}`, name))
		next, _ := model.Update(s.With(9, []snapshot.Change{{After: o}}), []snapshot.Change{{After: o}})
		for r := range next.Dataplanes("") {
			old, _ := model.Dataplane(r.Ref)
			for i, out := range r.Outbounds {
				if out.Destination.Name != name && out != old.Outbounds[i] {
					t.Fatalf("%s: outbound to %s was replaced by a policy about %s", r.Ref, out.Destination.ID, name)
				}
			}
		}
	})
}

// TestUnrelatedPodTouchesNothing: a pod that comes, becomes ready and goes concerns nobody
// else where no Service selects it.
func TestUnrelatedPodTouchesNothing(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, c.catalog, 5)
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		doc := func(ready string) *api.Object {
			return worlds.Decode(t, c.catalog, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"extra","namespace":"lonely","uid":"u-x","labels":{"app":"extra"}},
				"spec":{"nodeName":"n1","containers":[{"name":"weft-sidecar"},{"name":"app"}]},"status":{"podIP":"10.9.0.1","containerStatuses":[{"name":"weft-sidecar","ready":`+ready+`},{"name":"app","ready":true}]}}`)
		}
		var before *api.Object
		for _, after := range []*api.Object{doc("false"), doc("true"), nil} {
			changes := []snapshot.Change{{Before: before, After: after}}
			s = s.With(s.Revision()+1, changes)
			next, affected := model.Update(s, changes)
			if len(affected.Dataplanes) != 1 || affected.Dataplanes[0].Name != "extra" {
				t.Fatalf("%v are affected", affected.Dataplanes)
			}
			model, before = next, after
		}
	})
}

// TestEveryRefThatMatchesIsLinked: a ref that means a service is found by its
// name, so that no update misses whom it concerns.
func TestEveryRefThatMatchesIsLinked(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
		labels := map[string]string{"app": pick("app", "web", "shop")}
		for key, value := range map[string]string{api.LabelNamespace: pick("namespace", "", "web", "shop"), api.LabelDisplayName: pick("display", "", "web", "shop")} {
			if value != "" {
				labels[key] = value
			}
		}
		text, _ := json.Marshal(labels)
		o := worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshService","mesh":"default","name":%q,"labels":%s,
			"spec":{"selector":{"dataplaneTags":{"app":"web"}},"ports":[{"port":80,"name":"main","appProtocol":"http"}]}}`, pick("name", "web", "shop"), text))
		ref := api.TargetRef{Kind: api.KindMeshService, SectionName: pick("section", "", "80", "main"), Namespace: pick("in", "", "web", "shop")}
		if pick("by", "name", "labels") == "name" {
			ref.Name = pick("named", "web", "shop", "web_shop_svc_80", "shop_web_svc_80", "web_web_svc_80")
		} else {
			ref.Labels = map[string]string{pick("key", "app", api.LabelDisplayName, api.LabelNamespace): pick("value", "web", "shop")}
		}
		if means, found := resolve.Means(o, ref, api.Home{Namespace: pick("home", "", "web", "shop")}); means && !found {
			t.Fatalf("%+v means %+v, but no update would find it", ref, o.Ref)
		}
	})
}
