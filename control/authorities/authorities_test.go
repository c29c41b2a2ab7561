package authorities

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

var owner = api.Ref{Kind: api.KindMesh, Name: "default"}

// world is a store, a clock and sidecars, all of which outlive any keeper.
type world struct {
	t              *testing.T
	store          store.Store
	now            time.Time
	cars           map[string]*rotation.Sidecar
	trust          map[string][]string // whom the Envoy of each trusts
	keep           *CAController
	starts, leaves int
}

func newWorld(t *testing.T) *world {
	w := newEmptyWorld(t)
	w.put(&api.Object{Ref: api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "s0"}, Spec: &api.Dataplane{}})
	return w
}

// newEmptyWorld is one whose mesh nobody has joined by the documents.
func newEmptyWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Now(), cars: map[string]*rotation.Sidecar{}, trust: map[string][]string{}}
	w.store = memory.New(snapshot.New(0), nil, func() time.Time { return w.now })
	t.Cleanup(func() { _ = w.store.Close() })
	for i := range 5 {
		name := fmt.Sprint("s", i)
		w.cars[name] = &rotation.Sidecar{Name: name, Connected: true}
	}
	w.start()
	return w
}

// start is a control plane that knows nothing but what the store holds.
func (w *world) start() {
	w.starts++
	w.keep = New(Config{
		Zone: api.Zone{Name: "default"}, Now: func() time.Time { return w.now }, Log: slog.New(slog.DiscardHandler), Spread: 10 * time.Minute,
		Keep: func(ctx context.Context, plan store.Plan) error {
			_, _, err := w.store.Apply(ctx, plan)
			return err
		},
		Sidecars: func(api.Ref) rotation.Fleet {
			return rotation.Fleet{Sidecars: func(yield func(rotation.Sidecar) bool) {
				for _, c := range w.cars {
					if !yield(*c) {
						return
					}
				}
			}}
		},
		Certify: func(dp api.Ref) { w.certify(w.cars[dp.Name]) },
	})
	w.keep.Take(w.store.Snapshot())
}

// mutual has the mesh sign by a backend.
func (w *world) mutual(enabled string, backends ...string) {
	m := &api.Mesh{MTLS: &api.MeshTLS{EnabledBackend: enabled}}
	for _, b := range backends {
		m.MTLS.Backends = append(m.MTLS.Backends, api.MeshBackend{Name: b, Type: api.AuthorityBuiltin})
	}
	w.put(&api.Object{Ref: owner, Spec: m})
}

// put applies a document.
func (w *world) put(o *api.Object) {
	w.t.Helper()
	if _, _, err := w.store.Apply(w.t.Context(), store.Writes(store.Write{Put: o})); err != nil {
		w.t.Fatal(err)
	}
}

// certify gives a sidecar a leaf, if it may have one.
func (w *world) certify(c *rotation.Sidecar) {
	key, err := workload.NewKey()
	if err != nil {
		w.t.Fatal(err)
	}
	issued, err := w.keep.Sign(owner, []string{"spiffe://default/web"}, &key.PublicKey, *c)
	if err == nil {
		c.Root, c.Ends = issued.Root, issued.Ends
		w.leaves++
	}
}

// published are the fingerprints of the roots that the MeshTrust names.
func (w *world) published() []string {
	o, ok := w.store.Snapshot().Get(api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: "mtls-default"})
	if !ok {
		return nil
	}
	var out []string
	for _, c := range o.Spec.(*api.MeshTrust).Roots() {
		out = append(out, workload.Fingerprint(c))
	}
	return out
}

// tick is what happens in a while: the keeper writes, Envoys take whom they are to trust, and
// sidecars renew. The law holds at each moment in between.
func (w *world) tick(d time.Duration) rotation.State {
	w.t.Helper()
	w.now = w.now.Add(d)
	w.keep.step(w.t.Context(), w.store)
	w.law()
	s, _, _ := w.keep.State(owner)
	for name, c := range w.cars {
		if c.Connected {
			w.trust[name], c.Trust = w.published(), s.Trust
			w.law()
		}
	}
	w.keep.renew()
	for _, c := range w.cars {
		if c.Connected && (c.Root == "" || w.now.After(workload.RenewAt(c.Ends.Add(-workload.CertificateLife), c.Ends, c.Name))) {
			w.certify(c)
			w.law()
		}
	}
	return s
}

// law: who holds a valid leaf is believed by all who hold one.
func (w *world) law() {
	w.t.Helper()
	for _, c := range w.cars {
		for name, o := range w.cars {
			if c.Ends.After(w.now) && o.Ends.After(w.now) && !slices.Contains(w.trust[name], c.Root) {
				s, _, _ := w.keep.State(owner)
				w.t.Fatalf("%s does not trust the leaf of %s in phase %s", name, c.Name, s.Phase)
			}
		}
	}
}

// until ticks until a phase is reached.
func (w *world) until(phase rotation.Phase) rotation.State {
	w.t.Helper()
	for range 1000 {
		if s := w.tick(20 * time.Minute); s.Phase == phase {
			return s
		}
	}
	s, wait, _ := w.keep.State(owner)
	w.t.Fatalf("phase %s is not reached from %s, which waits for %+v", phase, s.Phase, wait)
	return s
}

// TestRotation (I14): a root takes over another one, with a control plane that is killed after
// each thing that it has written, and one sidecar that is cut off (case 36); then the first
// root is trusted no more.
func TestRotation(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"undisturbed": false, "killed after each step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutual("ca-1", "ca-1")
			w.until(rotation.Steady)
			first := w.tick(time.Minute).Signer()
			w.mutual("ca-2", "ca-2") // which takes the first one away at the same time
			w.cars["s4"].Connected = false
			for _, phase := range []rotation.Phase{rotation.Trusting, rotation.Issuing, rotation.Settling, rotation.Retiring, rotation.Steady} {
				w.until(phase)
				if phase == rotation.Issuing {
					w.cars["s4"].Connected = true
				}
				if kill {
					w.start()
				}
			}
			s := w.tick(time.Minute)
			if s.Signer() == first || len(w.published()) != 1 || w.published()[0] != s.Signer() {
				t.Errorf("%s signs, trusted are %s", s.Signer(), w.published())
			}
			t.Logf("%d control planes, %d leaves", w.starts, w.leaves)
		})
	}
}

// TestAbort: who goes back to the first backend while the second takes over keeps the law.
func TestAbort(t *testing.T) {
	t.Parallel()
	for _, at := range []rotation.Phase{rotation.Trusting, rotation.Issuing, rotation.Settling} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutual("ca-1", "ca-1", "ca-2")
			first := w.until(rotation.Steady).Signer()
			w.mutual("ca-2", "ca-1", "ca-2")
			w.until(at)
			w.mutual("ca-1", "ca-1", "ca-2")
			w.tick(time.Minute)
			if s := w.until(rotation.Steady); s.Signer() != first {
				t.Errorf("%s signs and not the first", s.Signer())
			}
		})
	}
}

// TestNothingIsSignedBeyondTheState: without a leader certificates end by what was reserved,
// and then there are none; a restart signs nothing by itself (case 37).
func TestNothingIsSignedBeyondTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutual("ca-1", "ca-1")
	w.until(rotation.Steady)
	w.tick(time.Minute)
	given := w.leaves
	w.start()
	if w.tick(time.Minute); w.leaves != given {
		t.Errorf("%d certificates after a restart", w.leaves-given)
	}
	s, _, _ := w.keep.State(owner)
	w.keep.cfg.Leads = func() bool { return false }
	for _, c := range []struct {
		at   time.Duration // before what is reserved ends
		want bool
	}{{12 * time.Hour, true}, {time.Minute, false}} {
		w.now = s.Reserved().Add(-c.at)
		car := *w.cars["s0"]
		w.certify(&car)
		if got := car.Ends.After(w.cars["s0"].Ends); got != c.want || car.Ends.After(s.Reserved()) {
			t.Errorf("%v before the end: ends %v, reserved until %v", c.at, car.Ends, s.Reserved())
		}
	}
}
