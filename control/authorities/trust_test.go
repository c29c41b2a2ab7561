package authorities

import (
	"slices"
	"testing"
	"time"

	"github.com/weftmesh/weft/xds/server/authority/rotation"
)

// TestTrustOutlivesItsAuthority: what a mesh has signed that signs no more is believed until the last of it has
// ended, and its MeshTrust goes then.
func TestTrustOutlivesItsAuthority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mutual("ca-1", "ca-1")
	w.until(rotation.Steady)
	s := w.tick(time.Minute)
	w.mutual("", "ca-1")
	for w.now.Add(time.Hour).Before(s.LastEnd()) {
		if w.tick(time.Hour); !slices.Equal(w.published(), []string{s.Signer()}) {
			t.Fatalf("%v before the last certificate ends %v are trusted, not %s", s.LastEnd().Sub(w.now), w.published(), s.Signer())
		}
	}
	if w.tick(time.Hour); w.published() != nil {
		t.Errorf("%v after the last certificate has ended %v are trusted", w.now.Sub(s.LastEnd()), w.published())
	}
}
