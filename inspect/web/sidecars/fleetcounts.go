package sidecars

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/resolve"
)

// FleetCounts is what questions about all dataplanes count.
type FleetCounts interface {
	// Sync is how far the sidecars of a mesh follow.
	Sync(m *resolve.Reader, mesh string) inspect.Sync
	// States are how many dataplanes of a mesh are in each state, and those in one of some
	// states but for inspect.StateInSync, sorted.
	States(s *snapshot.Snapshot, mesh string, of []inspect.State) (counts map[inspect.State]int, in []api.Ref)
	// Troubled are at least the sidecars with which something is wrong.
	Troubled() []inspect.Sidecar
	// Insights summarise a mesh, and its services by name.
	Insights(catalog *api.Catalog, s *snapshot.Snapshot, mesh *api.Object) (insights.MeshInsight, []insights.ServiceInsight)
}

// FindIn tells how far the sidecars of a mesh follow. Most of them do, of which the fleet counts know
// without looking at each; of the others it is asked.
func FindIn(census FleetCounts, all Sidecars, m *resolve.Reader, mesh string) inspect.FindSidecar {
	counts, others := census.States(m.Snapshot(), mesh, []inspect.State{inspect.StateRefusing, inspect.StateWithheld, inspect.StateMissing, inspect.StateBehind})
	if counts[inspect.StateInSync] < len(others) {
		return all.Sidecar
	}
	other := make(map[api.Ref]bool, len(others))
	for _, ref := range others {
		other[ref] = true
	}
	return func(ref api.Ref) (inspect.Sidecar, bool) {
		if ref.Mesh != mesh || other[ref] {
			return all.Sidecar(ref)
		}
		return inspect.Sidecar{Dataplane: ref, Connected: true, InSync: true}, true
	}
}

// Counting looks at every sidecar for every question.
func Counting(all Sidecars) FleetCounts { return counting{all} }

type counting struct{ Sidecars }

// Sync asks all sidecars.
func (c counting) Sync(m *resolve.Reader, mesh string) inspect.Sync {
	return inspect.SyncOf(m, mesh, c.Sidecars.Sidecars())
}

// States asks the sidecar of every dataplane of s.
func (c counting) States(s *snapshot.Snapshot, mesh string, of []inspect.State) (counts map[inspect.State]int, in []api.Ref) {
	counts = map[inspect.State]int{}
	for o := range s.Of(api.KindDataplane, mesh) {
		x, _ := c.Sidecar(o.Ref)
		is := x.State()
		if counts[is]++; is != inspect.StateInSync && slices.Contains(of, is) {
			in = append(in, o.Ref)
		}
	}
	return counts, in
}

// Troubled are all sidecars.
func (c counting) Troubled() []inspect.Sidecar { return c.Sidecars.Sidecars() }

// Insights asks the sidecar of every dataplane of s.
func (c counting) Insights(catalog *api.Catalog, s *snapshot.Snapshot, mesh *api.Object) (insights.MeshInsight, []insights.ServiceInsight) {
	return insights.InsightsOf(catalog, s, mesh, func(ref api.Ref) insights.Seen {
		x, _ := c.Sidecar(ref)
		return insights.SeenOf(&x)
	})
}
