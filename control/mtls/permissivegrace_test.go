package mtls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestWhoHasJoinedIsKnownWhereAMeshBegins: when a mesh comes to know identities, everybody who has
// joined is written down before that is published: the next control plane may make it strict at once.
func TestWhoHasJoinedIsKnownWhereAMeshBegins(t *testing.T) {
	t.Parallel()
	p := unserved(t)
	written := func(name string) bool {
		text, _ := os.ReadFile(filepath.Join(p.DataDir, "connected.json"))
		return strings.Contains(string(text), name)
	}
	dp := func(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name} }
	p.Reconnects.Joined(dp("web-1"))
	for !written("web-1") {
		time.Sleep(time.Millisecond)
	}
	p.Reconnects.Joined(dp("pay-1")) // the next write is a while away
	mesh := func(text string) *api.Object { return worlds.Decode(t, world.Catalog(), text) }
	plain := mesh(`{"type":"Mesh","name":"default"}`)
	secured := mesh(`{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"PERMISSIVE"}]}}`)
	before, _ := world.Compile(snapshot.New(1, plain))
	changes := []snapshot.Change{{Before: plain, After: secured}}
	next, affected := before.Update(before.Written().With(2, changes), changes)
	p.GracePermissive(before, next, changes, affected)
	if !written("pay-1") {
		t.Error("who has joined is not written down")
	}
}
