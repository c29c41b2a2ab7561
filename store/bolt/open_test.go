package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

func configOf(dir string) Config { return Config{Dir: dir, Decode: storetest.Decode, Now: time.Now} }

func opened(t *testing.T, c Config) *Store {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func closing(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// A large mesh takes its time to decode, and is no damage. The clock is one
// that stands still but for sleepers.
func TestASlowDecoderIsNoDamage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, configOf(dir))
	storetest.Put(t, s, storetest.Service(t, "a", 1), storetest.Service(t, "b", 2))
	closing(t, s)
	synctest.Test(t, func(t *testing.T) {
		slow := configOf(dir)
		slow.Decode = func(file string, text []byte) (*api.Object, error) {
			time.Sleep(time.Hour)
			return storetest.Decode(file, text)
		}
		s := opened(t, slow)
		if s.Snapshot().Len() != 2 {
			t.Errorf("%d documents are served", s.Snapshot().Len())
		}
		closing(t, s)
	})
}

func TestADecoderThatFailsIsAProblemOfItsDocument(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, configOf(dir))
	storetest.Put(t, s, storetest.Service(t, "a", 1), storetest.Service(t, "b", 2))
	closing(t, s)
	c := configOf(dir)
	c.Decode = func(file string, text []byte) (*api.Object, error) {
		if strings.Contains(string(text), "name: a") {
			panic("a bug")
		}
		return storetest.Decode(file, text)
	}
	s = opened(t, c)
	defer closing(t, s)
	if p := s.Problems(); s.Snapshot().Len() != 1 || len(p) != 1 || p[0].Object.Name != "a" {
		t.Errorf("%d documents, problems %v", s.Snapshot().Len(), p)
	}
}

type closer chan struct{}

func (c closer) Close() error { close(c); return nil }

func TestWhatOpensTooLateIsClosedAgain(t *testing.T) {
	t.Parallel()
	release, closed := make(chan struct{}), make(closer)
	_, err := within(time.Millisecond, "a.db", func() (closer, error) {
		<-release
		return closed, nil
	})
	if !errors.Is(err, errEndless) || !strings.HasPrefix(err.Error(), "the store a.db is damaged") {
		t.Fatalf("it said %v", err)
	}
	close(release)
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("it stays open, and locked")
	}
	if small, large := checkTimeout(1<<20), checkTimeout(10<<30); small >= 10*time.Second || large < time.Minute {
		t.Errorf("%s for a small file, %s for a large one", small, large)
	}
}

// unreadable is a store that cannot decode its one document.
func unreadable(t *testing.T, dir string) (*Store, *api.Object) {
	t.Helper()
	o := storetest.Service(t, "a", 1)
	s := opened(t, configOf(dir))
	storetest.Put(t, s, o)
	closing(t, s)
	c := configOf(dir)
	c.Decode = func(string, []byte) (*api.Object, error) { return nil, errors.New("of a newer weft") }
	return opened(t, c), o
}

func TestAStoppedStoreAcknowledgesNothing(t *testing.T) {
	t.Parallel()
	s, o := unreadable(t, t.TempDir())
	defer closing(t, s)
	why := errors.New("the disk failed")
	if err := s.Health(); err != nil {
		t.Fatal(err)
	}
	s.stopped.Store(&why)
	if err := s.Health(); !errors.Is(err, why) || !errors.Is(err, store.ErrStopped) {
		t.Errorf("its health is %v", err)
	}
	_, results, err := s.Apply(t.Context(), store.Writes(store.Write{Delete: &o.Ref}))
	if !errors.Is(err, why) || len(s.Problems()) != 1 {
		t.Errorf("%v, %v, problems %v", results, err, s.Problems())
	}
}

// What is in memory is on the disk, whoever was first.
func TestWritesOfAnUnreadableDocumentAreKept(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]func(*api.Object) []store.Write{
		"deleted, then put": func(o *api.Object) []store.Write { return []store.Write{{Delete: &o.Ref}, {Put: o}} },
		"put, then deleted": func(o *api.Object) []store.Write { return []store.Write{{Put: o}, {Delete: &o.Ref}} },
		"put":               func(o *api.Object) []store.Write { return []store.Write{{Put: o}} },
		"deleted twice":     func(o *api.Object) []store.Write { return []store.Write{{Delete: &o.Ref}, {Delete: &o.Ref}} },
	} {
		dir := t.TempDir()
		s, o := unreadable(t, dir)
		_, results, err := s.Apply(t.Context(), store.Writes(writes(o)...))
		if err != nil {
			t.Fatal(err)
		}
		served, waiting := s.Snapshot().Len(), len(s.Problems())
		closing(t, s)
		s = opened(t, configOf(dir))
		if got := s.Snapshot().Len(); got != served+waiting {
			t.Errorf("%s: %v; %d documents on the disk, %d were served and %d waited", name, results, got, served, waiting)
		}
		if name == "deleted twice" && (results[0].Action != store.Deleted || results[1].Action != store.Missing) {
			t.Errorf("%s: %v", name, results)
		}
		closing(t, s)
	}
}

// A plan that refuses deletes nothing, neither at once nor with the next write.
func TestARefusedDeleteOfAnUnreadableDocumentDeletesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, o := unreadable(t, dir)
	why := errors.New("refused")
	_, _, err := s.Apply(t.Context(), func(*snapshot.Snapshot) ([]store.Write, error) { return []store.Write{{Delete: &o.Ref}}, why })
	if !errors.Is(err, why) {
		t.Fatal(err)
	}
	storetest.Put(t, s, storetest.Service(t, "another", 1))
	closing(t, s)
	s = opened(t, configOf(dir))
	if got := s.Snapshot().Len(); got != 2 {
		t.Errorf("%d documents are left of 2", got)
	}
	closing(t, s)
}

func TestAPutBesideADeleteOfWhatIsUnreadableIsKept(t *testing.T) {
	t.Parallel()
	for range 20 {
		dir := t.TempDir()
		s, o := unreadable(t, dir)
		done := make(chan error, 2)
		for _, w := range []store.Write{{Delete: &o.Ref}, {Put: o}} {
			go func() {
				_, _, err := s.Apply(t.Context(), store.Writes(w))
				done <- err
			}()
		}
		for range 2 {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		before := s.Snapshot().Len()
		closing(t, s)
		s = opened(t, configOf(dir))
		if after := s.Snapshot().Len(); after != before {
			t.Fatalf("%d documents were acknowledged, %d are kept", before, after)
		}
		closing(t, s)
	}
}

func TestCheckChangesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	closing(t, opened(t, configOf(dir)))
	if err := os.Remove(filepath.Join(dir, MarkName)); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(filepath.Join(dir, FileName)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("the directory holds %s, %v", fmt.Sprint(entries), err)
	}
}

// A revision that cannot be noted beside the file is durable all the same; after
// it nothing is acknowledged, because a loss would go unnoticed.
func TestARevisionThatIsNotNotedIsTheLast(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := opened(t, configOf(dir))
	storetest.Put(t, s, storetest.Service(t, "a", 1))
	if err := s.mark.close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "b", 2)})); err != nil {
		t.Errorf("what is durable was refused: %v", err)
	}
	if err := s.Health(); err == nil || !strings.Contains(err.Error(), "write the revision beside "+filepath.Join(dir, FileName)) {
		t.Errorf("health: %v", err)
	}
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "c", 3)})); err == nil {
		t.Error("the next was acknowledged")
	}
	_ = s.Close() // the mark is closed already
	s = opened(t, configOf(dir))
	if s.Snapshot().Len() != 2 {
		t.Errorf("%d documents are served", s.Snapshot().Len())
	}
	closing(t, s)
}
