package authorities

import (
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// state is the Secret with the state of the authority.
func (w *world) state() *api.Object {
	w.t.Helper()
	o, ok := w.store.Snapshot().Get(api.Ref{Kind: api.KindSecret, Mesh: "default", Name: "default.ca-rotation"})
	if !ok {
		w.t.Fatal("there is no state")
	}
	return o
}

// writes does what somebody does beside the control plane, which starts anew then.
func (w *world) writes(x store.Write) {
	w.t.Helper()
	if _, _, err := w.store.Apply(w.t.Context(), store.Writes(x)); err != nil {
		w.t.Fatal(err)
	}
	w.start()
}

// TestALostState: where the Secret with the state of a rotation is deleted, or an older one is put
// in its place, in whatever phase, nobody meets a leaf that he does not trust, what sidecars have
// acknowledged before never counts again, and at last one root is left.
func TestALostState(t *testing.T) {
	t.Parallel()
	for _, turned := range []bool{false, true} { // to another root of the same backend, or to another backend
		for _, phase := range []rotation.Phase{rotation.Steady, rotation.Trusting, rotation.Issuing, rotation.Settling, rotation.Retiring} {
			for _, deleted := range []bool{true, false} {
				t.Logf("turned %v, %s, deleted %v", turned, phase, deleted)
				w := newWorld(t)
				w.mutual("ca-1", "ca-1")
				w.until(rotation.Steady)
				w.tick(time.Minute)
				old := w.state()
				if turned {
					if _, err := w.turn(Rotation{}); err != nil {
						t.Fatal(err)
					}
				} else {
					w.mutual("ca-2", "ca-1", "ca-2")
				}
				before := w.until(phase)
				trusted := w.published()
				if deleted {
					w.writes(store.Write{Delete: &old.Ref, Own: true})
				} else {
					w.writes(store.Write{Put: old, Own: true})
				}
				after := w.tick(time.Second)
				if after.Trust <= before.Trust {
					t.Errorf("turned %v, %s, deleted %v: generation %d after %d", turned, phase, deleted, after.Trust, before.Trust)
				}
				for _, root := range trusted {
					if !slices.Contains(w.published(), root) {
						t.Errorf("turned %v, %s, deleted %v: a root is trusted no more at once", turned, phase, deleted)
					}
				}
				w.until(rotation.Steady)
				if s := w.tick(time.Minute); !slices.Contains(w.published(), s.Signer()) {
					t.Errorf("turned %v, %s, deleted %v: who signs is not trusted", turned, phase, deleted)
				}
			}
		}
	}
}

// TestNobodyTrustsWhatHeWasNotTold: a generation of trust stands when the MeshTrust says it, not when
// it is stored that it is to be: who has all of what was published before knows nothing of it.
func TestNobodyTrustsWhatHeWasNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutual("ca-1", "ca-1")
	w.until(rotation.Steady)
	w.tick(time.Minute)
	if _, since := w.keep.Trust(owner); since > w.store.Snapshot().Revision() {
		t.Errorf("the first root is trusted since %d", since)
	}
	if _, err := w.turn(Rotation{}); err != nil {
		t.Fatal(err)
	}
	w.keep.Take(w.store.Snapshot())
	if generation, since := w.keep.Trust(owner); generation != 2 || since <= w.store.Snapshot().Revision() || len(w.published()) != 1 {
		t.Errorf("generation %d since %d, at revision %d, trusted are %v", generation, since, w.store.Snapshot().Revision(), w.published())
	}
	w.keep.step(t.Context(), w.store)
	if _, since := w.keep.Trust(owner); since != w.store.Snapshot().Revision() || len(w.published()) != 2 {
		t.Errorf("both are trusted since %d, at revision %d: %v", since, w.store.Snapshot().Revision(), w.published())
	}
}
