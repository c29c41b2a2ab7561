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
		text, _ := os.ReadFile(p.returning.File)
		return strings.Contains(string(text), name)
	}
	dp := func(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name} }
	p.returning.Joined(dp("web-1"))
	for !written("web-1") {
		time.Sleep(time.Millisecond)
	}
	p.returning.Joined(dp("pay-1")) // the next write is a while away
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
