package plan_test

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/xds/resource"
)

// drawn is a random world, and a change of it.
func drawn(t *rapid.T) step.Comparison {
	catalog := world.Catalog()
	s := worlds.Snapshot(t, catalog, rapid.IntRange(1, 6).Draw(t, "steps"))
	before, _ := world.Compile(s)
	changes := worlds.Changes(t, catalog, s)
	after, affected := before.Update(s.With(s.Revision()+1, changes), changes)
	step := step.Comparison{Before: before, After: after, Affected: affected.Dataplanes, Renderer: world.Settings{}.Renderer()}
	for _, c := range changes {
		step.Touched = append(step.Touched, c.Ref())
	}
	return step
}

// TestPlanIsWhatSidecarsReceive: the resources that a plan names are those that differ
// between what the Envoys get before and after, rendered from nothing; no more and no fewer.
func TestPlanIsWhatSidecarsReceive(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		step := drawn(t)
		got := map[string]bool{}
		for _, r := range plan.Of(step, nil).Envoy {
			for _, dp := range each(r.Listed) {
				got[fmt.Sprint(r.Mesh, " ", dp, " ", r.Action, " ", r.Type, " ", r.Name)] = true
			}
		}
		if diff := gocmp.Diff(received(step.Before.Snapshot(), step.After.Snapshot()), got); diff != "" {
			t.Fatalf("received (-) and planned (+):\n%s", diff)
		}
	})
}

// TestPoliciesBreakNothing: a change of nothing but policies makes no note on an object that
// it does not touch, which is why inspect.Breaks looks no further then.
func TestPoliciesBreakNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		catalog, s := world.Catalog(), snapshot.New(0)
		for i := range rapid.IntRange(1, 6).Draw(t, "steps") {
			s = s.With(uint64(i+1), worlds.Changes(t, catalog, s))
		}
		before, _ := world.Compile(s)
		touched := map[api.Ref]bool{}
		changes := slices.DeleteFunc(worlds.Changes(t, catalog, s), func(c snapshot.Change) bool {
			typ, _ := catalog.Type(c.Ref().Kind)
			touched[c.Ref()] = typ.Policy && !typ.Route
			return !touched[c.Ref()]
		})
		after, _ := before.Update(s.With(s.Revision()+1, changes), changes)
		known := map[string]bool{}
		of := func(n api.Note) string { return fmt.Sprint(n.Origin.Ref, n.Field, n.Code, n.Message) }
		for n := range before.Notes() {
			known[of(n)] = true
		}
		for n := range after.Notes() {
			if !touched[n.Origin.Ref] && !known[of(n)] {
				t.Fatalf("%s says %s after %v", n.Origin.Ref, n.Message, changes)
			}
		}
	})
}

// received is what changes at the Envoys of two worlds.
func received(before, after *snapshot.Snapshot) map[string]bool {
	out := map[string]bool{}
	was, is := rendered(before), rendered(after)
	for ref, now := range is {
		old := was[ref]
		for name, version := range now {
			if had, there := old[name]; !there {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " create ", name)] = true
			} else if had != version {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " update ", name)] = true
			}
		}
		for name := range old {
			if _, stays := now[name]; !stays {
				out[fmt.Sprint(ref.Mesh, " ", ref.FullName(), " delete ", name)] = true
			}
		}
	}
	return out
}

// rendered are the versions of the resources of all dataplanes, by type and name.
func rendered(s *snapshot.Snapshot) map[api.Ref]map[string]string {
	m, _ := world.Compile(s)
	return versionsIn(m)
}

// versions are those of resources, by type and name.
func versions(state *resource.State) map[string]string {
	out := map[string]string{}
	for typ, list := range map[string][]*resource.Resource{"Listener": state.Listeners, "RouteConfiguration": state.Routes,
		"Cluster": state.Clusters, "ClusterLoadAssignment": state.Endpoints, "Secret": state.Secrets} {
		for _, r := range list {
			out[typ+" "+r.Name] = r.Version
		}
	}
	return out
}

func each(on step.Listed) []string {
	if on.Dataplane != "" {
		return []string{on.Dataplane}
	}
	return on.Dataplanes
}
