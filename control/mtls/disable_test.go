package mtls

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
)

// TestARestartSaysNothing: the first control plane of a data directory, and one after it whose documents say
// what they said, have nothing to say of meshes that give up mutual TLS, and no mesh goes on with anything. Where it
// is not known what meshes said, it is said that it is not.
func TestARestartSaysNothing(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dir := t.TempDir()
	m, _ := world.Compile(snapshot.New(1, worlds.Decode(t, world.Catalog(), `{"type":"Mesh","name":"default","mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin"}]}}`)))
	begins := func() int {
		p := unservedAt(t, dir)
		p.Log = slog.New(slog.NewTextHandler(&log, nil))
		return len(p.rest(m))
	}
	for _, which := range []string{"the first control plane", "the second one"} {
		if changes := begins(); changes > 0 || log.Len() > 0 {
			t.Errorf("%s makes %d changes, and says %s", which, changes, &log)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, reliedFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changes := begins(); changes > 0 || !strings.Contains(log.String(), "level=WARN") {
		t.Errorf("of a file that cannot be read it makes %d changes, and says %q", changes, &log)
	}
	without, _ := world.Compile(snapshot.New(2, world.DefaultMesh()))
	if changes := unservedAt(t, dir).rest(without); len(changes) != 1 || changes[0].After == nil {
		t.Errorf("while none ran the mesh gave up mutual TLS, and the changes are %v", changes)
	}
}
