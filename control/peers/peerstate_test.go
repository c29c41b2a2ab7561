package peers

import (
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// TestSidecarsFollowAgainAfterARestore: where the cluster is as it was at an earlier version,
// nobody waits for versions that do not come again; what changes from then on counts.
func TestSidecarsFollowAgainAfterARestore(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}
	l := newLedger()
	l.publish(models{ref: {}}, 1, nil)
	l.begin("b")
	synced := &Sidecar{Dataplane: named(ref), Stream: &Stream{}, Synced: true}
	hear := func(pods uint64) {
		l.hear("b", &Told{Sidecars: []*Sidecar{synced}, Heard: map[string]uint64{"pods": pods}, Whole: true})
	}
	publish := func(revision uint64, steps ...store.Step) {
		for _, s := range steps {
			s.Revision = revision
			l.move(s)
		}
		l.publish(models{ref: {}}, revision, []api.Ref{ref})
	}
	at := func(pods uint64) store.Step {
		return store.Step{Heard: store.Position{"pods": pods}, Changed: store.Position{"pods": pods}}
	}
	follows := func() bool { return l.inSync(l.peers["b"], l.peers["b"].sidecars[ref]) }
	hear(900)
	publish(2, at(1000))
	if follows() {
		t.Fatal("it follows before its replica knows the change")
	}
	publish(3, at(1001), store.Step{Heard: store.Position{"pods": 600}, Changed: store.Position{"pods": 590}})
	hear(600)
	if !follows() {
		t.Errorf("it does not follow after the restore: needed is %v", l.peers["b"].needs)
	}
	publish(4, at(601))
	if follows() {
		t.Error("it follows before its replica knows the change after the restore")
	}
	hear(601)
	if !follows() {
		t.Error("it does not follow with all that there is")
	}
}

// TestNobodyWaitsForAPeerThatHearsOfNothing: of a resource that a peer does not follow it hears
// nothing, and its sidecars are judged without it; which that are is known.
func TestNobodyWaitsForAPeerThatHearsOfNothing(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "web"}
	l := newLedger()
	l.move(store.Step{Revision: 1, Heard: store.Position{"pods": 1, "secrets": 1}, Follows: []string{"pods", "secrets"}})
	l.publish(models{ref: {}}, 1, nil)
	l.begin("b")
	l.hear("b", &Told{Sidecars: []*Sidecar{{Dataplane: named(ref), Stream: &Stream{}, Synced: true}}, Heard: map[string]uint64{"pods": 1}, Follows: []string{"jobs", "pods"}, Whole: true})
	publish := func(revision uint64, name string) bool {
		l.move(store.Step{Revision: revision, Heard: store.Position{name: revision}, Changed: store.Position{name: revision}})
		l.publish(models{ref: {}}, revision, []api.Ref{ref})
		return l.inSync(l.peers["b"], l.peers["b"].sidecars[ref])
	}
	if !publish(2, "secrets") {
		t.Error("it waits for what it never hears of")
	}
	if publish(3, "pods") {
		t.Error("it follows without what it hears of")
	}
	here, there := l.differs(l.peers["b"])
	if !slices.Equal(here, []string{"secrets"}) || !slices.Equal(there, []string{"jobs"}) {
		t.Errorf("here alone %v, there alone %v", here, there)
	}
	l.hear("b", &Told{Follows: []string{"pods", "secrets"}})
	if here, there := l.differs(l.peers["b"]); len(here)+len(there) > 0 {
		t.Errorf("here alone %v, there alone %v", here, there)
	}
}
