package bolt

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
)

// remembering is a store in a directory that keeps so many revisions, with a clock of its own.
func remembering(t *testing.T, dir string, most int, now func() time.Time) *Store {
	t.Helper()
	c := configOf(dir)
	c.History, c.Now = most, now
	return opened(t, c)
}

func TestBoltKeepsItsHistory(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T, dir string) storetest.Remembering {
		c := configOf(dir)
		c.History = 20
		s := opened(t, c)
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	storetest.RunHistory(t, 20,
		func(t *testing.T) storetest.Remembering { return open(t, t.TempDir()) },
		func(t *testing.T, s storetest.Remembering) storetest.Remembering {
			dir := filepath.Dir(s.(*Store).db.Path())
			closing(t, s.(*Store))
			return open(t, dir)
		})
}

// Revisions go with age too, but for the change at hand.
func TestOldRevisionsGo(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	s := remembering(t, t.TempDir(), 1000, func() time.Time { return now })
	defer closing(t, s)
	storetest.Put(t, s, storetest.Service(t, "a", 1))
	now = now.Add(29 * 24 * time.Hour)
	storetest.Put(t, s, storetest.Service(t, "a", 2))
	if all := storetest.Revisions(t, s); len(all) != 2 {
		t.Fatalf("kept are %v", all)
	}
	now = now.Add(2 * 24 * time.Hour)
	storetest.Put(t, s, storetest.Service(t, "a", 3))
	if all := storetest.Revisions(t, s); len(all) != 2 || all[1].Number != 2 {
		t.Fatalf("kept are %v", all)
	}
	if s.kept.count != 2 || s.kept.bytes <= 0 {
		t.Errorf("it counts %+v", s.kept)
	}
}

// Where revisions were made that the history does not know, it begins anew and says so.
func TestAHistoryWithAGapBeginsAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := remembering(t, dir, 1000, time.Now)
	storetest.Put(t, s, storetest.Service(t, "a", 1))
	storetest.Put(t, s, storetest.Service(t, "a", 2))
	if err := s.db.Update(func(tx *bbolt.Tx) error { // as a weft does that knows no history
		got, err := decodeTotals(tx.Bucket(metaBucket).Get(totalsKey))
		got.revision = 9
		return errors.Join(err, tx.Bucket(metaBucket).Put(totalsKey, got.encode()))
	}); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	s = remembering(t, dir, 1000, time.Now)
	defer closing(t, s)
	var gone *store.GoneError
	if _, err := s.Undo(t.Context(), s.Snapshot(), 1); !errors.As(err, &gone) || gone.Oldest != 9 {
		t.Errorf("revision 1: %v", err)
	}
	storetest.Put(t, s, storetest.Service(t, "a", 3))
	if all := storetest.Revisions(t, s); len(all) != 1 || all[0].Number != 10 {
		t.Errorf("kept are %v", all)
	}
	if o, _ := storetest.Then(t, s, 9).Get(storetest.Service(t, "a", 2).Ref); storetest.Port(o) != 2 {
		t.Errorf("at revision 9 the port is %d", storetest.Port(o))
	}
}

// --history 0 keeps nothing, and lets go of what was kept.
func TestAHistoryCanBeTurnedOff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := remembering(t, dir, 1000, time.Now)
	storetest.Put(t, s, storetest.Service(t, "a", 1))
	closing(t, s)
	s = remembering(t, dir, 0, time.Now)
	storetest.Put(t, s, storetest.Service(t, "a", 2))
	if err := s.Revisions(0, 9, func(store.Revision) bool { return true }); !errors.Is(err, store.ErrNoHistory) {
		t.Error(err)
	}
	closing(t, s)
	s = remembering(t, dir, 1000, time.Now)
	defer closing(t, s)
	if all := storetest.Revisions(t, s); len(all) != 0 {
		t.Errorf("kept are %v", all)
	}
	storetest.Put(t, s, storetest.Service(t, "a", 3))
	var gone *store.GoneError
	if _, err := s.Undo(t.Context(), s.Snapshot(), 1); !errors.As(err, &gone) || gone.Oldest != 2 {
		t.Errorf("revision 1: %v", err)
	}
}

// A damaged record of the past keeps nothing from being served, and is told.
func TestDamagedHistoryIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := remembering(t, dir, 1000, time.Now)
	for port := range 4 {
		storetest.Put(t, s, storetest.Service(t, "a", port+1))
	}
	if err := s.db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(historyBucket)
		return errors.Join(b.Put(revisionKey(beforePrefix, 3), []byte("rubbish")), b.Put(revisionKey(toldPrefix, 2), []byte("rubbish")))
	}); err != nil {
		t.Fatal(err)
	}
	closing(t, s)
	s = remembering(t, dir, 1000, time.Now)
	defer closing(t, s)
	all := storetest.Revisions(t, s)
	if len(all) != 4 || all[2].Damaged == nil || all[1].Damaged != nil {
		t.Errorf("kept are %v", all)
	}
	if o, _ := storetest.Then(t, s, 3).Get(storetest.Service(t, "a", 2).Ref); storetest.Port(o) != 3 {
		t.Errorf("at revision 3 the port is %d", storetest.Port(o))
	}
	var gone *store.GoneError
	if _, err := s.Undo(t.Context(), s.Snapshot(), 1); !errors.As(err, &gone) || gone.Oldest != 3 || gone.Because == nil {
		t.Errorf("revision 1: %v", err)
	}
}

// What can be checked and saved of a file are its documents.
func TestAHistoryIsNotTakenForDocuments(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := remembering(t, dir, 1000, time.Now)
	for port := range 40 {
		storetest.Put(t, s, storetest.Service(t, "a", port+1))
	}
	closing(t, s)
	f, err := Check(filepath.Join(dir, FileName))
	if err != nil || !f.Sound() || f.Records != 1 {
		t.Errorf("found %+v, %v", f, err)
	}
}

// The past of an object is kept as its record stood in the file: what was sealed there is
// sealed here.
func TestWhatWasIsKeptAsItStood(t *testing.T) {
	t.Parallel()
	c := configOf(t.TempDir())
	c.History = 10
	c.Encode = func(o *api.Object) ([]byte, error) {
		return fmt.Appendf(nil, "type: MeshService\nmesh: default\nname: %s\nspec: {ports: [{port: 80}]} # sealed\n", o.Name), nil
	}
	s := opened(t, c)
	defer closing(t, s)
	first := *storetest.Service(t, "a", 1)
	first.Source.Text = nil
	storetest.Put(t, s, &first)
	storetest.Put(t, s, storetest.Service(t, "a", 2))
	if err := s.db.View(func(tx *bbolt.Tx) error {
		key := revisionKey(beforePrefix, 2)
		text, err := intact(key, tx.Bucket(historyBucket).Get(key))
		if err != nil {
			return err
		}
		was, err := unpack(text)
		if len(was) != 1 || !strings.Contains(string(was[0].Body), "# sealed") {
			t.Errorf("kept is %s", was)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
