package bolt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/weftmesh/weft/files"
)

// fullness is whether there is room for a write: by what became of the last one, and by what the file
// system says. A full disk is no failure: each write is tried, and nothing is lost by one that finds no
// room.
type fullness struct {
	mu     sync.Mutex
	last   error     // of the last write, that found no room
	looked time.Time // when room was looked for after that
}

const (
	// leastRoom is what a write may need beside what the file holds already.
	leastRoom = 1 << 20
	// tried is what is written to see whether there is room again, at most once in betweenTries.
	tried        = 64 << 10
	betweenTries = time.Second
	roomFile     = "weft.room"
)

// noted is told what became of a write.
func (f *fullness) noted(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last = nil; errors.Is(err, syscall.ENOSPC) {
		f.last = err
	}
}

// why says why a write would find no room; nil where it would, or where nobody knows.
func (f *fullness) why(cfg Config) error {
	room := cfg.Room
	if room == nil {
		room = files.Room
	}
	const then = "make room, and it takes writes again; what is stored is served as before"
	if free, known := room(cfg.Dir); known && free < leastRoom {
		return fmt.Errorf("the store takes no writes: %w: %d KiB are free for %s; %s", syscall.ENOSPC, free>>10, cfg.Dir, then)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		return nil
	}
	if now := cfg.Now(); now.Sub(f.looked).Abs() >= betweenTries {
		f.looked = now
		if hasRoom(cfg.Dir) {
			f.last = nil
			return nil
		}
	}
	return fmt.Errorf("the store takes no writes: %w; %s", f.last, then)
}

// hasRoom tries it: quotas, and what is kept for others, no file system says beforehand.
func hasRoom(dir string) bool {
	path := filepath.Join(dir, roomFile)
	err := files.Replace(path, make([]byte, tried), files.Private)
	return errors.Join(err, os.Remove(path)) == nil
}
