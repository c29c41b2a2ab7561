package connections

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
)

// TestWhoJoinsWaitsForTheDiskWhereThatMatters: in a mesh that knows identities a sidecar is served
// once it is written down, and in any other at once.
func TestWhoJoinsWaitsForTheDiskWhereThatMatters(t *testing.T) {
	t.Parallel()
	r := NewReconnects(t.TempDir(), time.Now(), slog.New(slog.DiscardHandler), func(mesh string) bool { return mesh == "secured" })
	t.Cleanup(r.Close)
	r.writing.Lock() // the disk takes its time
	r.Joined(api.Ref{Kind: api.KindDataplane, Mesh: "plain", Name: "web-1"})
	served := make(chan struct{})
	go func() {
		r.Joined(api.Ref{Kind: api.KindDataplane, Mesh: "secured", Name: "pay-1"})
		close(served)
	}()
	for pending := false; !pending; { // until it has joined
		r.mu.Lock()
		pending = len(r.here) == 2
		r.mu.Unlock()
	}
	select {
	case <-served:
		t.Error("it is served before it is written down")
	default:
	}
	r.writing.Unlock()
	<-served
	text, err := os.ReadFile(r.File)
	if err != nil || !strings.Contains(string(text), "pay-1") {
		t.Errorf("%s %v", text, err)
	}
	r.Joined(api.Ref{Kind: api.KindDataplane, Mesh: "plain", Name: "late-1"})
	r.Settle()
	if text, err = os.ReadFile(r.File); err != nil || !strings.Contains(string(text), "late-1") {
		t.Errorf("%s %v", text, err)
	}
}
