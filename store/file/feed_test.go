package file_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/file"
	"github.com/weftmesh/weft/store/memory"
)

// feed reads a directory into a store, as at the start of a process.
func feed(t *testing.T, dir string, into store.Store) *file.Feed {
	t.Helper()
	f, err := file.NewFeed(t.Context(), config(dir), into)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// follow runs a feed until the test ends.
func follow(t *testing.T, f *file.Feed) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
}

func remove(t *testing.T, dir, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, s store.Store, name string) bool {
	t.Helper()
	return s.Snapshot().Has(storetest.Service(t, name, 1).Ref)
}

func empty() *memory.Store { return memory.New(snapshot.New(0), nil, time.Now) }

func TestADirectoryTakesAwayOnlyWhatIsItsOwn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := empty()
	put(t, dir, "a.yaml", service("taken", 1))
	put(t, dir, "b.yaml", service("own", 1))
	f := feed(t, dir, into)
	storetest.Put(t, into, storetest.Service(t, "taken", 1)) // a user, by hand
	named, err := storetest.Decode(filepath.Join(dir, "mine.yaml"), []byte(service("mine", 1)))
	if err != nil {
		t.Fatal(err)
	}
	storetest.Put(t, into, named) // a user who calls the text like a file of the directory
	follow(t, f)
	put(t, dir, "c.yaml", service("more", 1))
	eventually(t, "another file arrives", func() bool { return has(t, into, "more") })
	remove(t, dir, "a.yaml")
	remove(t, dir, "b.yaml")
	eventually(t, "what is the directory's goes", func() bool { return !has(t, into, "own") })
	if !has(t, into, "taken") || !has(t, into, "mine") {
		t.Error("what a user wrote went with the files")
	}
}

func TestADirectoryTakesOverWhatItSaysAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := empty()
	storetest.Put(t, into, storetest.Service(t, "a", 1))
	put(t, dir, "a.yaml", service("a", 1))
	feed(t, dir, into)
	remove(t, dir, "a.yaml")
	feed(t, dir, into)
	if has(t, into, "a") {
		t.Error("it stays, though the directory said it and says it no more")
	}
}

// The process that knew the last good version is gone; the store has it.
func TestABrokenFileTakesNothingAwayAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := empty()
	put(t, dir, "a.yaml", service("a", 1)+"---\n"+service("b", 1))
	put(t, dir, "c.yaml", service("c", 1))
	feed(t, dir, into)
	put(t, dir, "a.yaml", "type: [")
	put(t, dir, "c.yaml", service("d", 1))
	feed(t, dir, into)
	if !has(t, into, "a") || !has(t, into, "b") {
		t.Error("the last good version is gone")
	}
	if has(t, into, "c") || !has(t, into, "d") {
		t.Error("a sound file was not followed")
	}
}

func TestWhatTheStoreRefusedIsAppliedLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := &storetest.Refusing{Store: empty()}
	f := feed(t, dir, into)
	follow(t, f)
	refused := func() bool {
		return slices.ContainsFunc(f.Problems(), func(v *api.Violation) bool { return v.Code == "NotApplied" })
	}
	into.Refuses.Store(true)
	put(t, dir, "a.yaml", service("a", 1))
	eventually(t, "the store refuses", func() bool { return into.Attempts.Load() > 0 && refused() })
	into.Refuses.Store(false)
	eventually(t, "the file is applied, though nothing happens to it any more", func() bool { return has(t, into, "a") })
	eventually(t, "the problem goes", func() bool { return !refused() })
}

// counting counts the writes that a store is asked for.
type counting struct {
	store.Store
	writes []string
}

func (s *counting) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	return s.Store.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		writes, err := plan(now)
		for _, w := range writes {
			s.writes = append(s.writes, w.Ref().Name)
		}
		return writes, err
	})
}

// What the directory says is written where the store does not say it, so that
// one event costs one change.
func TestADirectoryWritesOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := &counting{Store: empty()}
	put(t, dir, "a.yaml", service("a", 1)+"---\n"+service("b", 1))
	put(t, dir, "c.yaml", service("c", 1))
	f := feed(t, dir, into)
	written := func(what, want string) {
		t.Helper()
		if err := f.Once(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(into.writes, " "); got != want {
			t.Errorf("%s: %q was written, want %q", what, got, want)
		}
		into.writes = nil
	}
	written("the start", "a b c")
	written("nothing", "")
	put(t, dir, "a.yaml", service("a", 1)+"---\n"+service("b", 2))
	written("one of two changes", "b")
	put(t, dir, "a.yaml", "# first\n"+service("a", 1)+"---\n"+service("b", 2))
	written("a comment", "")
	remove(t, dir, "c.yaml")
	written("a file goes", "c")
	storetest.Put(t, into.Store, storetest.Service(t, "b", 7))
	written("a user changes what the directory says", "b")
	f = feed(t, dir, into)
	written("a restart", "")
	put(t, dir, "a.yaml", service("g", 1)+"---\n"+service("f", 1)+"---\n"+service("e", 1)+"---\n"+service("d", 1))
	written("all change, in the order of names", "a b d e f g")
}

func refused(f *file.Feed) int {
	n := 0
	for _, v := range f.Problems() {
		if v.Severity == api.Error {
			n++
		}
	}
	return n
}

// A document that cannot be admitted waits; it takes away neither what stands
// for it nor the others.
func TestADocumentThatIsNotAdmittedWaits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := empty()
	cfg := config(dir)
	cfg.Admit = func(now *snapshot.Snapshot, writes []store.Write) (admitted []store.Write, wrong []*api.Violation) {
		for _, w := range writes {
			if w.Put != nil && storetest.Port(w.Put) > 1 && !now.Has(storetest.Service(t, "wanted", 1).Ref) {
				wrong = append(wrong, api.Path("mesh").Breaks("there is no mesh"))
				continue
			}
			admitted = append(admitted, w)
		}
		return admitted, wrong
	}
	put(t, dir, "a.yaml", service("a", 1)+"---\n"+service("b", 1))
	f, err := file.NewFeed(t.Context(), cfg, into)
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, "a.yaml", service("a", 2)+"---\n"+service("c", 2))
	if err := f.Once(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !has(t, into, "a") || has(t, into, "b") || has(t, into, "c") || refused(f) != 2 {
		t.Errorf("%d documents, problems %v", into.Snapshot().Len(), f.Problems())
	}
	follow(t, f)
	storetest.Put(t, into, storetest.Service(t, "wanted", 1))
	eventually(t, "what waited is stored, though no file changes", func() bool { return has(t, into, "c") && refused(f) == 0 })
	remove(t, dir, "a.yaml")
	eventually(t, "it goes with its file", func() bool { return !has(t, into, "a") && !has(t, into, "c") })
}

// A file that was emptied while nobody looked keeps what it said.
func TestAnEmptiedFileTakesNothingAwayAtTheStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	into := empty()
	put(t, dir, "a.yaml", service("a", 1))
	feed(t, dir, into)
	put(t, dir, "a.yaml", "")
	f := feed(t, dir, into)
	if !has(t, into, "a") || len(f.Problems()) != 1 || f.Problems()[0].Code != "Empty" {
		t.Errorf("problems %v", f.Problems())
	}
	remove(t, dir, "a.yaml")
	if feed(t, dir, into); has(t, into, "a") {
		t.Error("the file is gone, and what it said stays")
	}
}
