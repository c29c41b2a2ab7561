package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(snapshot.New(0), nil, time.Now) })
}

func TestWhatIsNotKeptIsNotPublished(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	s := memory.New(snapshot.New(0), func(store.Revision, []snapshot.Change) error { return full }, time.Now)
	_, w := s.Watch()
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "a", 1)})); !errors.Is(err, full) {
		t.Fatalf("apply said %v", err)
	}
	if s.Snapshot().Len() != 0 || s.Snapshot().Revision() != 0 {
		t.Error("it was published all the same")
	}
	w.Stop()
}

// TestARevisionIsToldBeforeItIsSeen: who keeps something by revisions has it when the first
// reader comes.
func TestARevisionIsToldBeforeItIsSeen(t *testing.T) {
	t.Parallel()
	s := memory.New(snapshot.New(3), nil, time.Now)
	o := storetest.Service(t, "a", 1)
	told := []uint64{}
	first := func(revision uint64) {
		told = append(told, revision)
		if now := s.Snapshot().Revision(); now != 3 {
			t.Errorf("revision %d holds when it is told", now)
		}
	}
	if now := s.Publish(map[api.Ref]*api.Object{}, first); now.Revision() != 3 {
		t.Errorf("nothing new is revision %d", now.Revision())
	}
	if now := s.Publish(map[api.Ref]*api.Object{o.Ref: o}, first); now.Revision() != 4 {
		t.Errorf("something new is revision %d", now.Revision())
	}
	if len(told) != 2 || told[0] != 3 || told[1] != 4 {
		t.Errorf("told are %v", told)
	}
}
