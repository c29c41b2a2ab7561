package bolt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/storetest"
)

// TestAFullDiskIsTold: by what the file system says before anything is written, and by what became of the
// last write; the store takes writes again, and says so, as soon as there is room.
func TestAFullDiskIsTold(t *testing.T) {
	t.Parallel()
	var free atomic.Uint64
	var known atomic.Bool
	var now atomic.Int64
	c := configOf(t.TempDir())
	c.Room = func(string) (uint64, bool) { return free.Load(), known.Load() }
	c.Now = func() time.Time { return time.Unix(now.Load(), 0) }
	s := opened(t, c)
	defer closing(t, s)
	if err := s.Health(); err != nil {
		t.Fatalf("where nobody knows: %v", err)
	}
	known.Store(true)
	free.Store(5 << 10)
	if err := s.Health(); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "5 KiB are free for "+c.Dir+"; make room") {
		t.Errorf("without room: %v", err)
	}
	storetest.Put(t, s, storetest.Service(t, "a", 1)) // which is tried all the same
	free.Store(1 << 30)
	if err := s.Health(); err != nil {
		t.Errorf("with room: %v", err)
	}
	s.full.noted(&os.PathError{Op: "write", Path: "weft.db", Err: syscall.ENOSPC})
	s.full.looked = c.Now()
	if err := s.Health(); !errors.Is(err, syscall.ENOSPC) || s.failed() != nil {
		t.Errorf("after a write that found no room, of which a file system says nothing: %v", err)
	}
	now.Add(2)
	if err := s.Health(); err != nil {
		t.Errorf("when there is room again: %v", err)
	}
	if _, err := os.Stat(filepath.Join(c.Dir, roomFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was tried is left: %v", err)
	}
}
