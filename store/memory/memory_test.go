package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
	"github.com/weftmesh/weft/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) store.Store { return memory.New(api.NewSnapshot(0), nil, time.Now) })
}

func TestWhatIsNotKeptIsNotPublished(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	s := memory.New(api.NewSnapshot(0), func(uint64, []api.Change) error { return full }, time.Now)
	_, w := s.Watch()
	if _, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: storetest.Service(t, "a", 1)})); !errors.Is(err, full) {
		t.Fatalf("apply said %v", err)
	}
	if s.Snapshot().Len() != 0 || s.Snapshot().Revision() != 0 {
		t.Error("it was published all the same")
	}
	w.Stop()
}
