package telemetry_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// nobody is who wrote what documents say.
type nobody struct{}

func (nobody) Of(snapshot.Change, uint64) store.Author { return store.Author{} }

// counted is how often a metric has seen something, by the values of its labels.
func counted(t *testing.T, m *telemetry.Metrics, name string) map[string]uint64 {
	t.Helper()
	families, err := m.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, x := range f.GetMetric() {
			label := ""
			for _, l := range x.GetLabel() {
				label += l.GetValue()
			}
			out[label] += x.GetHistogram().GetSampleCount()
		}
	}
	return out
}

// TestPropagationIsTimed: how long a change took until a sidecar had confirmed it is measured for each
// sidecar, as a whole and by the kinds that have changed. One that connected after the change came says
// nothing of that, nor does one that confirms a revision of which nothing is known any more.
func TestPropagationIsTimed(t *testing.T) {
	t.Parallel()
	m := telemetry.New("1.2.3")
	bus := events.NewBus()
	t.Cleanup(bus.Close)
	o := telemetry.NewObserver(m, telemetry.Untraced(), bus, nobody{})
	peer := func(name string, stream uint64) syncstatus.Peer {
		return syncstatus.Peer{Dataplane: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name}, Stream: stream, Protocol: "delta"}
	}
	changed := func(kind string) snapshot.Change {
		return snapshot.Change{After: &api.Object{Ref: api.Ref{Kind: kind, Mesh: "default", Name: "x"}}}
	}
	before := []syncstatus.Peer{peer("web", 1), peer("pay", 2)}
	for _, p := range before {
		o.Connected(p)
	}
	o.Received(7, []snapshot.Change{changed("MeshRetry"), changed("MeshTimeout"), changed("MeshRetry")})
	o.Publishes(7)
	late := peer("late", 3)
	o.Connected(late)
	for _, p := range append(before, late) {
		o.Synced(p, 7)
	}
	o.Synced(before[0], 6)
	if got := counted(t, m, "weft_propagation_seconds"); got[""] != 2 || len(got) != 1 {
		t.Errorf("two sidecars have confirmed the change, timed are %v", got)
	}
	if got := counted(t, m, "weft_change_ack_seconds"); got["MeshRetry"] != 2 || got["MeshTimeout"] != 2 || len(got) != 2 {
		t.Errorf("two sidecars have confirmed two kinds, timed are %v", got)
	}
}
