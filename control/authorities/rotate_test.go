package authorities

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// turn asks something of the root of the mesh.
func (w *world) turn(ask Rotation) (Rotated, error) {
	w.t.Helper()
	return w.keep.Rotate(w.t.Context(), owner, ask)
}

// secrets are the names of the Secrets of the mesh.
func (w *world) secrets() (out []string) {
	for o := range w.store.Snapshot().Of(api.KindSecret, "default") {
		out = append(out, o.Name)
	}
	slices.Sort(out)
	return out
}

// TestTurn: a root of one backend is replaced by another of the same, twice, each time at the place
// that is free, and the former leaves nothing behind.
func TestTurn(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"undisturbed": false, "killed after each step": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutual("ca-1", "ca-1")
			seen := []string{w.until(rotation.Steady).Signer()}
			w.tick(time.Minute)
			for _, place := range []string{secondPlace, ""} {
				if out, err := w.turn(Rotation{}); err != nil || out.Phase != rotation.Trusting {
					t.Fatalf("%+v %v", out, err)
				}
				if _, err := w.turn(Rotation{}); err == nil || !strings.Contains(err.Error(), "--force") {
					t.Errorf("another one at the same time: %v", err)
				}
				for _, phase := range []rotation.Phase{rotation.Trusting, rotation.Issuing, rotation.Settling, rotation.Retiring, rotation.Steady} {
					if w.until(phase); kill {
						w.start()
					}
				}
				s := w.tick(time.Minute)
				if slices.Contains(seen, s.Signer()) || !slices.Equal(w.published(), []string{s.Signer()}) {
					t.Errorf("%s signs, trusted are %v, before %v", s.Signer(), w.published(), seen)
				}
				seen = append(seen, s.Signer())
				want := []string{"default.ca-builtin-cert-ca-1" + place, "default.ca-builtin-key-ca-1" + place, "default.ca-rotation"}
				if got := w.secrets(); !slices.Equal(got, want) {
					t.Errorf("Secrets %v, want %v", got, want)
				}
			}
		})
	}
}

// TestLivesOfBackends: a certificate lives as long as the backend says whose root signs it, whichever
// is to sign; and the rotation waits for no longer than those of the old root may live.
func TestLivesOfBackends(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	lives := map[string]time.Duration{}
	write := func(enabled string) {
		m := &api.MeshTLS{EnabledBackend: enabled}
		for name, life := range map[string]string{"short": "30m", "long": "3d"} {
			m.Backends = append(m.Backends, api.MeshBackend{Name: name, Type: api.AuthorityBuiltin, DPCert: map[string]any{"rotation": map[string]any{"expiration": life}}})
		}
		if _, _, err := w.store.Apply(t.Context(), store.Writes(store.Write{Put: &api.Object{Ref: owner, Spec: &api.Mesh{MTLS: m}}})); err != nil {
			t.Fatal(err)
		}
	}
	signed := func(at rotation.Phase) {
		car := &rotation.Sidecar{Name: "s1", Connected: true, Trust: w.until(at).Trust}
		w.certify(car)
		lives[string(at)] = car.Ends.Sub(w.now).Round(time.Minute)
	}
	write("short")
	signed(rotation.Steady)
	write("long")
	signed(rotation.Trusting)
	last := w.now
	signed(rotation.Settling)
	if want := map[string]time.Duration{"Steady": 30 * time.Minute, "Trusting": 30 * time.Minute, "Settling": 3 * 24 * time.Hour}; !maps.Equal(lives, want) {
		t.Errorf("they live %v, want %v", lives, want)
	}
	if w.until(rotation.Retiring); w.now.Sub(last) > 3*time.Hour {
		t.Errorf("it waited %v for certificates of half an hour", w.now.Sub(last))
	}
}

// TestTurnBack: a rotation is aborted in each phase in which it can be, by the law.
func TestTurnBack(t *testing.T) {
	t.Parallel()
	for _, at := range []rotation.Phase{rotation.Trusting, rotation.Issuing, rotation.Settling} {
		t.Run(string(at), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutual("ca-1", "ca-1")
			first := w.until(rotation.Steady).Signer()
			w.tick(time.Minute)
			if _, err := w.turn(Rotation{Abort: true}); err == nil {
				t.Error("nothing was there to abort")
			}
			if _, err := w.turn(Rotation{}); err != nil {
				t.Fatal(err)
			}
			w.until(at)
			w.start()
			if _, err := w.turn(Rotation{Abort: true}); err != nil {
				t.Fatal(err)
			}
			w.start()
			w.tick(time.Minute)
			if s := w.until(rotation.Steady); s.Signer() != first {
				t.Errorf("%s signs and not the first", s.Signer())
			}
			w.tick(time.Minute)
			if got := len(w.secrets()); got != 3 || len(w.published()) != 1 {
				t.Errorf("%v is left, trusted are %v", w.secrets(), w.published())
			}
		})
	}
	t.Run("what the document wants", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.mutual("ca-1", "ca-1", "ca-2")
		w.until(rotation.Steady)
		w.mutual("ca-2", "ca-1", "ca-2")
		w.until(rotation.Trusting)
		if _, err := w.turn(Rotation{Abort: true}); err == nil || !strings.Contains(err.Error(), "document") {
			t.Errorf("aborted: %v", err)
		}
	})
}

// TestTurnNow: a root in wrong hands is trusted no more at once; who holds a leaf of it is named, and
// has another one in a moment.
func TestTurnNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutual("ca-1", "ca-1")
	first := w.until(rotation.Steady).Signer()
	w.tick(time.Minute)
	if _, err := w.turn(Rotation{Force: true}); err == nil {
		t.Error("nothing was there to force")
	}
	revision := w.store.Snapshot().Revision()
	dry, err := w.turn(Rotation{Now: true, Dry: true})
	if err != nil || dry.Broken.Count != len(w.cars) || w.store.Snapshot().Revision() != revision {
		t.Errorf("asked only: %+v %v, revision %d after %d", dry, err, w.store.Snapshot().Revision(), revision)
	}
	out, err := w.turn(Rotation{Now: true})
	if err != nil || out.Phase != rotation.Retiring || out.Broken.Count != len(w.cars) || len(out.Broken.Names) != len(w.cars) {
		t.Fatalf("%+v %v", out, err)
	}
	// From here on the law of a rotation does not hold, which is what was asked for.
	w.keep.step(t.Context(), w.store)
	if got := w.published(); slices.Contains(got, first) || len(got) != 1 {
		t.Errorf("trusted are %v", got)
	}
	s, _, _ := w.keep.State(owner)
	for name, c := range w.cars {
		w.trust[name], c.Trust = w.published(), s.Trust
	}
	w.now = w.now.Add(2 * atOnce)
	w.keep.renew()
	for name, c := range w.cars {
		if c.Root == first {
			t.Errorf("%s has no other leaf", name)
		}
	}
	w.until(rotation.Steady)
}

// TestForce: a rotation that waits for the last leaves of the old root ends at once where people say
// so, and names who has one.
func TestForce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutual("ca-1", "ca-1")
	first := w.until(rotation.Steady).Signer()
	w.tick(time.Minute)
	if _, err := w.turn(Rotation{}); err != nil {
		t.Fatal(err)
	}
	w.until(rotation.Trusting)
	w.cars["s4"].Connected = false
	w.until(rotation.Settling)
	out, err := w.turn(Rotation{Force: true})
	if err != nil || !slices.Equal(out.Broken.Names, []string{"s4"}) || out.Phase != rotation.Retiring {
		t.Fatalf("%+v %v", out, err)
	}
	w.keep.step(t.Context(), w.store)
	if slices.Contains(w.published(), first) {
		t.Error("the old root is trusted")
	}
}

// TestWhoWasAwayIsRenewed: who was away for a moment while a root in wrong hands was replaced has another
// leaf as soon as it is back, and not only when its own is due.
func TestWhoWasAwayIsRenewed(t *testing.T) {
	t.Parallel()
	for name, knows := range map[string]bool{"before it learnt whom to trust": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.mutual("ca-1", "ca-1")
			first := w.until(rotation.Steady).Signer()
			w.tick(time.Minute)
			out, err := w.turn(Rotation{Now: true})
			if err != nil {
				t.Fatal(err)
			}
			away := w.cars["s4"]
			if away.Connected = false; knows {
				away.Trust = out.Trust
			}
			for name, c := range w.cars { // the law of a rotation does not hold, which is what was asked for
				if c.Connected {
					w.keep.step(t.Context(), w.store)
					w.trust[name], c.Trust = w.published(), out.Trust
					w.certify(c)
				}
			}
			w.keep.step(t.Context(), w.store)
			away.Connected, away.Trust = true, out.Trust
			w.now = w.now.Add(2 * askAgain)
			w.keep.step(t.Context(), w.store)
			if w.keep.renew(); away.Root == first {
				t.Error("it has no other leaf")
			}
			w.keep.step(t.Context(), w.store)
			if s, _, _ := w.keep.State(owner); s.Phase != rotation.Steady {
				t.Errorf("it is %s when all have one", s.Phase)
			}
		})
	}
}

// TestWhatIsTurned: what is not weft's to replace is refused with what to do, and an authority that is
// not there is none.
func TestWhatIsTurned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.turn(Rotation{}); !errors.Is(err, ErrNoAuthority) {
		t.Error(err)
	}
	w.mutual("ca-1", "ca-1")
	if _, err := w.turn(Rotation{}); err == nil {
		t.Error("it has no root yet")
	}
	w.until(rotation.Steady)
	standing := w.keep.Standings("default")
	if len(standing) != 1 || len(standing[0].Roots) != 1 || !standing[0].Roots[0].Own {
		t.Errorf("%+v", standing)
	}
}
