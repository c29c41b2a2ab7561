package peers

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/store"
)

// TestASidecarFollowsOnlyWithWhatWasLearnt: what a replica has found out of its sidecars is waited
// for at a peer, which may be one that has told of no resources, until it has heard of it.
func TestASidecarFollowsOnlyWithWhatWasLearnt(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web-1"}
	l, model := newLedger(), models{ref: new(effective.Resolved)}
	l.publish(model, 3, []api.Ref{ref})
	l.begin("b")
	l.hear("b", &Told{Whole: true, Follows: []string{"meshes"}, Sidecars: []*Sidecar{{Dataplane: named(ref), Synced: true, Stream: &Stream{}}}})
	follows := func() bool { p := l.peers["b"]; return l.inSync(p, p.sidecars[ref]) }
	if !follows() {
		t.Fatal("it does not follow with nothing to hear of")
	}
	for _, version := range []uint64{7, 8} {
		l.learnt(learntBy+"a", version)
		l.publish(model, 3, []api.Ref{ref})
		if follows() {
			t.Errorf("it follows before its replica has heard of %d", version)
		}
	}
	l.hear("b", &Told{Heard: store.Position{learntBy + "a": 7}})
	if follows() {
		t.Error("it follows with what was learnt before")
	}
	l.hear("b", &Told{Heard: store.Position{learntBy + "a": 8}})
	if !follows() {
		t.Error("it does not follow with all")
	}
}
