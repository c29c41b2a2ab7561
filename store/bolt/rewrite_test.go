package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store/bolt"
)

// TestRewrite: documents of a kind that are given other texts are there with those when the store is opened again,
// with all others as they were; where one cannot be rewritten, none is.
func TestRewrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 3 {
		storetest.Put(t, s, storetest.Service(t, fmt.Sprintf("s%d", i), 8081))
	}
	closeNow(t, s)
	ports := func() string {
		t.Helper()
		s := open(t, dir)
		defer closeNow(t, s)
		text := ""
		for o := range s.Snapshot().All() {
			text += fmt.Sprintf("%s:%d ", o.Name, o.Spec.(*api.MeshService).Ports[0].Port)
		}
		return text
	}
	other := func(_ api.Ref, _ string, text []byte) ([]byte, error) {
		return bytes.ReplaceAll(text, []byte("8081"), []byte("9091")), nil
	}
	full := errors.New("no")
	if _, err := bolt.Rewrite(dir, api.KindMeshService, func(ref api.Ref, file string, text []byte) ([]byte, error) {
		if ref.Name == "s1" {
			return nil, full
		}
		return other(ref, file, text)
	}); !errors.Is(err, full) {
		t.Errorf("one cannot be rewritten: %v", err)
	}
	if got, want := ports(), "s0:8081 s1:8081 s2:8081 "; got != want {
		t.Errorf("after one could not be rewritten: %s, want %s", got, want)
	}
	if n, err := bolt.Rewrite(dir, api.KindMesh, other); n != 0 || err != nil {
		t.Errorf("%d documents of a kind that nobody has: %v", n, err)
	}
	if n, err := bolt.Rewrite(dir, api.KindMeshService, other); n < 3 || err != nil {
		t.Errorf("%d documents: %v", n, err)
	}
	if got, want := ports(), "s0:9091 s1:9091 s2:9091 "; got != want {
		t.Errorf("after all were rewritten: %s, want %s", got, want)
	}
}
