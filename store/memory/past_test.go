package memory_test

import (
	"errors"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/storetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

func TestMemoryKeepsItsHistory(t *testing.T) {
	t.Parallel()
	storetest.RunHistory(t, 20,
		func(*testing.T) storetest.Remembering {
			return memory.New(snapshot.New(0), nil, time.Now).Remember(20)
		},
		func(_ *testing.T, s storetest.Remembering) storetest.Remembering { return s })
}

func TestWithoutHistoryNothingIsToldOfThePast(t *testing.T) {
	t.Parallel()
	s := memory.New(snapshot.New(0), nil, time.Now)
	storetest.Put(t, s, storetest.Service(t, "a", 1))
	if err := s.Revisions(0, 9, func(store.Revision) bool { return true }); !errors.Is(err, store.ErrNoHistory) {
		t.Error(err)
	}
	if _, err := s.Undo(t.Context(), s.Snapshot(), 0); !errors.Is(err, store.ErrNoHistory) {
		t.Error(err)
	}
}
