package bolt

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/storetest"
)

// What a file says it holds is taken at its word only where it is whole, and a
// file of a newer weft is no damage.
func TestTotals(t *testing.T) {
	t.Parallel()
	of := totals{revision: 1 << 40, count: 1 << 33, sum: 7}
	whole := of.encode()
	if got, err := decodeTotals(whole); got != of || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	newer := append(slices.Clone(whole[:len(whole)-4]), "and more"...)
	newer[0] = format + 1
	newer = binary.BigEndian.AppendUint32(newer, checksum(totalsKey, newer))
	torn := slices.Clone(newer)
	torn[3]++
	other := slices.Clone(whole)
	other[3]++
	for want, texts := range map[string][][]byte{
		"its totals are missing":                               {nil, {}},
		"its totals are wrong":                                 {{0}, {1}, {2}, {2, 0, 0, 0, 0}, {2, 0, 0, 0, 0, 0}, whole[:24], append(slices.Clone(whole), 0), other, torn},
		"it has format 2, this weft knows 1; use a newer weft": {newer},
	} {
		for _, text := range texts {
			if got, err := decodeTotals(text); err == nil || err.Error() != want {
				t.Errorf("%x: %+v, %v; want %q", text, got, err, want)
			}
		}
	}
}

// The older of the two first pages is not needed, whichever of them it is.
func TestTheOlderFirstPageIsNotNeeded(t *testing.T) {
	t.Parallel()
	for _, documents := range []int{5, 6} {
		dir := t.TempDir()
		s := opened(t, configOf(dir))
		for i := range documents {
			storetest.Put(t, s, storetest.Service(t, fmt.Sprint("s", i), i+1))
		}
		closing(t, s)
		path := filepath.Join(dir, FileName)
		sound, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		served := 0
		for page := range 2 {
			bad := slices.Clone(sound)
			clear(bad[page*os.Getpagesize() : (page+1)*os.Getpagesize()])
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(configOf(dir))
			if err != nil {
				continue
			}
			if got := s.Snapshot().Len(); got != documents {
				t.Errorf("without first page %d: %d of %d documents are served", page, got, documents)
			}
			served++
			closing(t, s)
		}
		if served != 1 {
			t.Errorf("%d documents: opened without %d of the first pages, want one", documents, served)
		}
	}
}

// A file over which bbolt panics is neither locked nor open afterwards, so that
// `weft store export` can read it.
func TestWhatCannotBeOpenedIsLetGo(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), FileName)
	db, err := openDB(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for page := 2; page < len(text)/os.Getpagesize(); page++ { // both first pages stay valid
		for i := range os.Getpagesize() {
			text[page*os.Getpagesize()+i] = 0xff
		}
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openDB(path); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Fatalf("%v", err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := nobodyWrites(f); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "linux" {
		if n := openFiles(t, path); n != 1 {
			t.Errorf("it is open %d times, want once by this test", n)
		}
	}
}

// openFiles counts how often this process has a file open.
func openFiles(t *testing.T, path string) (n int) {
	t.Helper()
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if at, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && at == path {
			n++
		}
	}
	return n
}
