package bolt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/bolt"
)

func config(dir string) bolt.Config {
	return bolt.Config{Dir: dir, Decode: storetest.Decode, Now: time.Now, History: 1000,
		Encode: func(o *api.Object) ([]byte, error) {
			return json.Marshal(map[string]any{"type": o.Kind, "mesh": o.Mesh, "name": o.Name, "spec": o.Spec})
		}}
}

func open(t *testing.T, dir string) *bolt.Store {
	t.Helper()
	s, err := bolt.Open(config(dir))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// closeNow ends a store in the middle of a test.
func closeNow(t *testing.T, s *bolt.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

func TestEverythingIsThereAfterReopening(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range 50 {
		o := *storetest.Service(t, fmt.Sprintf("s%d", i), i+1)
		o.Owner = []api.Owner{api.User, api.Directory, api.Ephemeral}[i%3]
		storetest.Put(t, s, &o)
	}
	gone := storetest.Service(t, "s7", 1).Ref
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &gone})); err != nil {
		t.Fatal(err)
	}
	before := s.Snapshot()
	closeNow(t, s)
	after := open(t, dir).Snapshot()
	if after.Revision() != before.Revision() || after.Len() != 49 {
		t.Fatalf("revision %d with %d objects, had %d with %d", after.Revision(), after.Len(), before.Revision(), before.Len())
	}
	for o := range before.All() {
		got, ok := after.Get(o.Ref)
		if !ok || !store.Same(o, got) || got.Owner != o.Owner || !got.Created.Equal(o.Created) || !got.Modified.Equal(o.Modified) || got.Source.Line != o.Source.Line {
			t.Errorf("%s came back as %+v, was %+v", o.Ref, got, o)
		}
	}
}

func TestOneOfAListIsKeptAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	catalog := api.NewCatalog(api.Types()...)
	objects, err := decode.Objects(catalog, "", []byte(`[{"type":"MeshService","mesh":"default","name":"a","spec":{"ports":[{"port":1}]}},
		{"type":"MeshService","mesh":"default","name":"b","spec":{"ports":[{"port":2}]}}]`))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	storetest.Put(t, s, objects...)
	closeNow(t, s)
	after := open(t, dir).Snapshot()
	for _, o := range objects {
		if got, ok := after.Get(o.Ref); !ok || storetest.Port(got) != storetest.Port(o) {
			t.Errorf("%s is lost", o.Ref)
		}
	}
}

func TestADocumentOfANewerVersionIsKeptAndReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a, b := storetest.Service(t, "a", 1), storetest.Service(t, "b", 2)
	storetest.Put(t, s, a, b)
	closeNow(t, s)
	older := config(dir)
	older.Decode = func(file string, text []byte) (*api.Object, error) {
		if strings.Contains(string(text), "name: a") {
			return nil, errors.New("unknown field spec.new")
		}
		return storetest.Decode(file, text)
	}
	s, err := bolt.Open(older)
	if err != nil {
		t.Fatal(err)
	}
	if p := s.Problems(); len(p) != 1 || p[0].Object != a.Ref || !strings.Contains(p[0].Message, "spec.new") {
		t.Errorf("problems are %v", p)
	}
	if s.Snapshot().Len() != 1 {
		t.Errorf("%d objects are served", s.Snapshot().Len())
	}
	closeNow(t, s)
	if got := open(t, dir).Snapshot(); got.Len() != 2 {
		t.Errorf("the newer version finds %d objects", got.Len())
	}
}

func TestAnUnreadableDocumentCanBeDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	a := storetest.Service(t, "a", 1)
	storetest.Put(t, s, a)
	closeNow(t, s)
	older := config(dir)
	older.Decode = func(string, []byte) (*api.Object, error) { return nil, errors.New("no") }
	s, err := bolt.Open(older)
	if err != nil {
		t.Fatal(err)
	}
	_, results, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &a.Ref}))
	if err != nil || results[0].Action != store.Deleted || len(s.Problems()) != 0 {
		t.Errorf("%v, %v, problems %v", results, err, s.Problems())
	}
	closeNow(t, s)
	if got := open(t, dir); got.Snapshot().Len() != 0 || len(got.Problems()) != 0 {
		t.Error("it is still there")
	}
}

func TestTwoProcessesCannotShareAStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, dir)
	_, err := bolt.Open(config(dir))
	if err == nil || !strings.Contains(err.Error(), "in use") || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("it said %v", err)
	}
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	storetest.Put(t, open(t, dir), storetest.Service(t, "a", 1))
	for _, name := range []string{"", bolt.FileName, bolt.MarkName} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s", name, info.Mode())
		}
	}
}
