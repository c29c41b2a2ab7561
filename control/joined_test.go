package control

import (
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestWhoJoinsWaitsForTheDiskWhereThatMatters: in a mesh that knows identities a sidecar is served
// once it is written down, and in any other at once.
func TestWhoJoinsWaitsForTheDiskWhereThatMatters(t *testing.T) {
	t.Parallel()
	r := newReturning(t.TempDir(), time.Now(), slog.New(slog.DiscardHandler), func(mesh string) bool { return mesh == "secured" })
	t.Cleanup(r.close)
	r.writing.Lock() // the disk takes its time
	r.joined(api.Ref{Kind: api.KindDataplane, Mesh: "plain", Name: "web-1"})
	served := make(chan struct{})
	go func() {
		r.joined(api.Ref{Kind: api.KindDataplane, Mesh: "secured", Name: "pay-1"})
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
	text, err := os.ReadFile(r.file)
	if err != nil || !strings.Contains(string(text), "pay-1") {
		t.Errorf("%s %v", text, err)
	}
	r.joined(api.Ref{Kind: api.KindDataplane, Mesh: "plain", Name: "late-1"})
	r.settle()
	if text, err = os.ReadFile(r.file); err != nil || !strings.Contains(string(text), "late-1") {
		t.Errorf("%s %v", text, err)
	}
}

// unserved is a control plane that nobody can reach.
func unserved(t *testing.T) *Plane {
	t.Helper()
	cfg := Default()
	cfg.Store, cfg.DataDir, cfg.API, cfg.XDS = "memory", t.TempDir(), "127.0.0.1:0", "127.0.0.1:0"
	p, err := New(t.Context(), cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.release() })
	return p
}

// TestWhoHasJoinedIsKnownWhereAMeshBegins: when a mesh comes to know identities, everybody who has
// joined is written down before that is published: the next control plane may make it strict at once.
func TestWhoHasJoinedIsKnownWhereAMeshBegins(t *testing.T) {
	t.Parallel()
	p := unserved(t)
	written := func(name string) bool {
		text, _ := os.ReadFile(p.returning.file)
		return strings.Contains(string(text), name)
	}
	dp := func(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name} }
	p.returning.joined(dp("web-1"))
	for !written("web-1") {
		time.Sleep(time.Millisecond)
	}
	p.returning.joined(dp("pay-1")) // the next write is a while away
	mesh := func(text string) *api.Object { return worlds.Decode(t, world.Catalog(), text) }
	plain := mesh(`{"type":"Mesh","name":"default"}`)
	secured := mesh(`{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"PERMISSIVE"}]}}`)
	before, _ := world.Compile(api.NewSnapshot(1, plain))
	changes := []api.Change{{Before: plain, After: secured}}
	next, affected := before.Update(before.Written().With(2, changes), changes)
	p.insights.hold(before, next, changes, affected)
	if !written("pay-1") {
		t.Error("who has joined is not written down")
	}
}
