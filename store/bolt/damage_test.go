package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store/bolt"
)

// filled is a directory with a store of n documents, closed.
func filled(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	s := open(t, dir)
	for i := range n {
		storetest.Put(t, s, storetest.Service(t, fmt.Sprintf("s%03d", i), i+1))
	}
	closeNow(t, s)
	return dir
}

// refused demands a clear refusal, unless the damage hit nothing that lives:
// live is how many documents are served then, -1 where the damage must be found.
func refused(t *testing.T, dir string, what string, live int) {
	t.Helper()
	s, err := bolt.Open(config(dir))
	switch {
	case err == nil:
		defer s.Close()
		if got := s.Snapshot().Len(); got != live {
			t.Errorf("%s: it was opened with %d documents", what, got)
		}
	case !strings.Contains(err.Error(), filepath.Join(dir, bolt.FileName)) || !strings.Contains(err.Error(), "weft store"):
		t.Errorf("%s: %v", what, err)
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Every flipped bit is found, or hit a place that holds nothing any more: then
// everything is served as it was written.
func TestEveryFlippedBitIsFoundOrHarmless(t *testing.T) {
	t.Parallel()
	const documents = 60
	dir := filled(t, documents)
	path := filepath.Join(dir, bolt.FileName)
	sound := read(t, path)
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 1000 {
		bad := bytes.Clone(sound)
		at, bit := random.IntN(len(bad)), random.IntN(8)
		bad[at] ^= 1 << bit
		write(t, path, bad)
		s, err := bolt.Open(config(dir))
		if err != nil {
			found++
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "weft store") {
				t.Fatalf("byte %d: %v", at, err)
			}
			continue
		}
		if s.Snapshot().Len() != documents || s.Snapshot().Revision() != documents {
			t.Errorf("byte %d bit %d: %d objects at revision %d were served", at, bit, s.Snapshot().Len(), s.Snapshot().Revision())
		}
		for o := range s.Snapshot().All() {
			if want := fmt.Sprintf("s%03d", storetest.Port(o)-1); o.Name != want {
				t.Errorf("byte %d: %s was served as %s", at, want, o.Name)
			}
		}
		closeNow(t, s)
	}
	if found < 50 {
		t.Errorf("only %d of 1000 were found: the test hits nothing", found)
	}
}

func TestALostPageIsRefused(t *testing.T) {
	t.Parallel()
	dir := filled(t, 200)
	path := filepath.Join(dir, bolt.FileName)
	sound := read(t, path)
	page := os.Getpagesize()
	for id := range len(sound) / page {
		bad := bytes.Clone(sound)
		clear(bad[id*page : (id+1)*page])
		write(t, path, bad)
		refused(t, dir, fmt.Sprintf("page %d zeroed", id), 200)
	}
	for _, size := range []int{1, page, 2 * page, 3 * page, len(sound) / 2} {
		write(t, path, sound[:size])
		refused(t, dir, fmt.Sprintf("cut to %d bytes", size), -1)
	}
	write(t, path, nil)
	refused(t, dir, "emptied", -1)
}

// An older copy of the file is a store that has lost acknowledged writes.
func TestAnOlderFileIsRefused(t *testing.T) {
	t.Parallel()
	dir := filled(t, 5)
	path := filepath.Join(dir, bolt.FileName)
	older := read(t, path)
	s := open(t, dir)
	storetest.Put(t, s, storetest.Service(t, "new", 1))
	closeNow(t, s)
	write(t, path, older)
	refused(t, dir, "older copy", -1)
}

func TestSalvageSavesWhatIsWhole(t *testing.T) {
	t.Parallel()
	dir := filled(t, 200)
	path := filepath.Join(dir, bolt.FileName)
	b := read(t, path)
	at := bytes.LastIndex(b, []byte("name: s123"))
	b[at+len("name: s12")] = '9'
	write(t, path, b)
	if found, err := bolt.Check(path); err != nil || found.Records != 200 || found.Damaged != 1 || found.Sound() {
		t.Errorf("check found %+v, %v", found, err)
	}
	var out bytes.Buffer
	saved, _, err := bolt.Export(path, &out)
	if err != nil || saved != 199 || strings.Count(out.String(), "type: MeshService") != 199 {
		t.Errorf("%d documents saved, %v", saved, err)
	}
	if strings.Contains(out.String(), "s129\nspec:\n  ports: [{port: 124}]") {
		t.Error("the damaged one was saved too")
	}
}

func TestCheckOfASoundStore(t *testing.T) {
	t.Parallel()
	dir := filled(t, 10)
	found, err := bolt.Check(filepath.Join(dir, bolt.FileName))
	if err != nil || !found.Sound() || found.Records != 10 || found.Revision != 10 {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := bolt.Check(filepath.Join(dir, "none.db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}
