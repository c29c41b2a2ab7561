package weft_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
)

// versions is what a sidecar holds, by type and name, with the hash of its bytes.
func versions(s *resource.State) map[string]string {
	out := map[string]string{}
	for _, list := range [][]*resource.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints} {
		for _, r := range list {
			out[r.Type+" "+r.Name] = r.Version
		}
	}
	return out
}

func anySnapshot(t *rapid.T, catalog *api.Catalog) *snapshot.Snapshot {
	s := worlds.Snapshot(t, catalog, rapid.IntRange(2, 6).Draw(t, "steps"))
	return s
}

// TestUnaffectedMeansNoChangedByte: what Update does not call affected gets the
// same bytes, and what it does differs from a clean rendering in nothing.
func TestUnaffectedMeansNoChangedByte(t *testing.T) {
	t.Parallel()
	catalog, renderer := world.Catalog(), xds.NewRenderer(world.Kinds())
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, catalog)
		model, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
		changes := worlds.Changes(t, catalog, s)
		s = s.With(99, changes)
		next, affected := model.Update(s, changes)
		clean, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
		for r := range clean.Dataplanes("") {
			want := versions(renderer.Render(r))
			updated, ok := next.Dataplane(r.Ref)
			if !ok {
				t.Fatalf("%s is lost", r.Ref)
			}
			if diff := cmp.Diff(want, versions(renderer.Render(updated))); diff != "" {
				t.Fatalf("%s: clean (-) and updated (+) differ:\n%s", r.Ref, diff)
			}
			if before, had := model.Dataplane(r.Ref); had && !slices.Contains(affected.Dataplanes, r.Ref) {
				if diff := cmp.Diff(versions(renderer.Render(before)), want); diff != "" {
					t.Fatalf("%s is not affected, but its bytes changed:\n%s", r.Ref, diff)
				}
			}
		}
	})
}

// TestRouteFieldChangesRoutesOnly: an http field that acts on routes changes no
// byte of a cluster, a listener or an endpoint list, and only the route table of
// the destination that it is about.
func TestRouteFieldChangesRoutesOnly(t *testing.T) {
	t.Parallel()
	catalog, renderer := world.Catalog(), xds.NewRenderer(world.Kinds())
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, catalog)
		name := rapid.SampledFrom(worlds.ServiceNames).Draw(t, "service")
		policy := func(seconds int) *api.Object {
			return worlds.Decode(t, catalog, fmt.Sprintf(`{"type":"MeshTimeout","mesh":"default","name":"extra","spec":{"to":[{"targetRef":{"kind":"MeshService","name":%q},"default":{"http":{"requestTimeout":"%ds"}}}]}}`, name, seconds))
		}
		first, second := policy(1), policy(2)
		before, _ := resolve.Compile(s.With(98, []snapshot.Change{{After: first}}), world.Dialects(), world.Kinds())
		change := []snapshot.Change{{Before: first, After: second}}
		after, _ := before.Update(before.Snapshot().With(99, change), change)
		for r := range after.Dataplanes("") {
			old, _ := before.Dataplane(r.Ref)
			was := versions(renderer.Render(old))
			tables := map[string]bool{}
			for _, o := range r.Outbounds {
				// What is said about a headless service holds for its pods.
				about := o.Destination.Name == name || o.Destination.Above != nil && o.Destination.Above.Name == name
				if about && o.Table != nil {
					tables[routes.RenderTable(o.Table, o.Cache).Type+" "+routes.RenderTable(o.Table, o.Cache).Name] = true
				}
			}
			for key, version := range versions(renderer.Render(r)) {
				if was[key] != version && !tables[key] {
					t.Fatalf("%s: %s changed with a request timeout of %s", r.Ref, key, name)
				}
			}
		}
	})
}

// TestLosersChangeNoByte: a policy that is shadowed field by field is part of
// the explanation and of no resource.
func TestLosersChangeNoByte(t *testing.T) {
	t.Parallel()
	catalog, renderer := world.Catalog(), xds.NewRenderer(world.Kinds())
	rapid.Check(t, func(t *rapid.T) {
		s := anySnapshot(t, catalog)
		retry := func(name, top string, n int) *api.Object {
			return worlds.Decode(t, catalog, fmt.Sprintf(`{"type":"MeshRetry","mesh":"default","name":%q,"spec":{"targetRef":%s,"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":%d}}}]}}`, name, top, n))
		}
		strong := retry("strong", `{"kind":"Dataplane"}`, 7)
		with := []snapshot.Change{{After: strong}, {After: retry("weak", `{"kind":"Mesh"}`, rapid.IntRange(1, 9).Draw(t, "retries"))}}
		alone, _ := resolve.Compile(s.With(98, with[:1]), world.Dialects(), world.Kinds())
		both, _ := resolve.Compile(s.With(98, with), world.Dialects(), world.Kinds())
		for r := range both.Dataplanes("") {
			old, _ := alone.Dataplane(r.Ref)
			if diff := cmp.Diff(versions(renderer.Render(old)), versions(renderer.Render(r))); diff != "" {
				t.Fatalf("%s: a shadowed policy changed bytes:\n%s", r.Ref, diff)
			}
		}
	})
}
