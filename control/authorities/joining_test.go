package authorities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// TestARotationThatNobodyJoined: where nobody could have been given a certificate, a rotation waits for
// nothing, whenever its control plane is killed.
func TestARotationThatNobodyJoined(t *testing.T) {
	t.Parallel()
	w := newEmptyWorld(t)
	clear(w.cars)
	w.mutual("ca-1", "ca-1")
	w.put(&api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "other", Name: "s0"}, Spec: &api.Dataplane{}})
	w.put(pod("bare", &api.Pod{}))
	w.until(rotation.Steady)
	first, began := w.tick(time.Second).Signer(), w.now
	if _, err := w.turn(Rotation{}); err != nil {
		t.Fatal(err)
	}
	for range 6 {
		w.start()
		w.tick(time.Second)
	}
	if s := w.tick(time.Second); s.Phase != rotation.Steady || s.Signer() == first {
		_, wait, _ := w.keep.State(owner)
		t.Errorf("%v after it began it is %s, and waits until %v", w.now.Sub(began), s.Phase, wait.Until)
	}
}

// TestWhoJoinsIsCertified: who joins a mesh first, by a Dataplane or a Pod, can be given a certificate at
// once, and a rotation that begins then waits for it after its control plane was killed.
func TestWhoJoinsIsCertified(t *testing.T) {
	t.Parallel()
	dataplane := &api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "s0"}, Spec: &api.Dataplane{}}
	injected := &api.Pod{}
	injected.Spec.Containers = []api.Container{{Name: api.SidecarContainer}}
	for name, o := range map[string]*api.Object{"Dataplane": dataplane, "Pod": pod("s0", injected)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newEmptyWorld(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				go w.keep.Follow(ctx, w.store)
				w.mutual("ca-1", "ca-1")
				synctest.Wait()
				if s, _, ok := w.keep.State(owner); !ok || !s.LastEnd().IsZero() {
					t.Fatalf("reserved is %v (%v) for nobody", s.LastEnd(), ok)
				}
				w.put(o)
				synctest.Wait() // and no clock goes on
				car := w.cars["s0"]
				s, _, _ := w.keep.State(owner)
				car.Trust = s.Trust
				if w.certify(car); car.Ends.IsZero() {
					t.Fatalf("there is no certificate; reserved is %v", s.Reserved())
				}
				if _, err := w.turn(Rotation{}); err != nil {
					t.Fatal(err)
				}
				cancel()
				synctest.Wait()
				w.start()
				if got := w.keep.Before("default"); got.Before(car.Ends) {
					t.Errorf("certificates of before end at %v, and there is one until %v", got, car.Ends)
				}
			})
		})
	}
}

func pod(name string, spec *api.Pod) *api.Object {
	return &api.Object{Ref: api.Ref{Kind: api.KindPod, Mesh: "default", Namespace: "shop", Name: name}, Spec: spec}
}
