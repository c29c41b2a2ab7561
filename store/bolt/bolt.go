// Package bolt is the store that needs nothing but a directory: one bbolt file
// for the documents and their history, and one small file for the last revision.
//
// It promises that what Apply acknowledged survives a crash at any moment, all
// of it or nothing of it, and that damage is found and refused instead of
// served: every record carries a checksum over its key and value, the records
// together carry a count and a sum, and the revision is kept outside the file
// too, because bbolt itself checks none of its data pages. After a failed
// write it acknowledges nothing more until it is opened again.
package bolt

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/files"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/memory"
)

// The files of a store, inside its directory.
const (
	FileName = "weft.db"
	MarkName = "weft.rev"
)

// Config is what a store needs to open.
type Config struct {
	Dir string
	// Decode reads one stored document; it is called concurrently. What it
	// cannot read stays in the file, is not served, and is among the Problems.
	Decode func(file string, text []byte) (*api.Object, error)
	// Encode writes an object that has no text of its own. What must not stand in the
	// file it seals for the object's ref.
	Encode func(*api.Object) ([]byte, error)
	// Open, where it is set, opens what Encode sealed in a stored object. What it cannot
	// open keeps the store from being opened.
	Open func(*api.Object) (*api.Object, error)
	Now  func() time.Time
	// History is how many revisions are kept, for 30 days; none where it is 0.
	History int
	// Room is how many bytes are left for the files of a directory, false where that is not known; nil asks
	// the file system.
	Room func(dir string) (free uint64, known bool)
}

// Store is a store.Store in a directory.
type Store struct {
	*memory.Store
	cfg     Config
	db      *bbolt.DB
	mark    *mark
	stopped atomic.Pointer[error] // why nothing more is written
	full    fullness

	writing sync.Mutex // held while writes are applied
	kept    kept       // in the history
	orphans []api.Ref  // unreadable documents that the step at hand deletes too

	mu       sync.Mutex
	problems []*api.Violation // documents in the file that cannot be read
}

var (
	_ store.BackingStore = (*Store)(nil)
	_ store.History      = (*Store)(nil)
)

// ErrSealed says that what was sealed in a stored object cannot be opened.
var ErrSealed = errors.New("a sealed document cannot be opened")

// checkTimeout bounds how long a look at the structure of a file may take, so that
// a damaged one is refused in time: what even a slow disk needs for its size.
// Decoding the documents is not part of it.
func checkTimeout(size int64) time.Duration {
	const slowDisk = 20 << 20 // bytes in a second
	return 8*time.Second + time.Duration(size/slowDisk)*time.Second
}

// Open opens the store in cfg.Dir, and makes it where there is none.
func Open(cfg Config) (s *Store, err error) {
	if err := files.MakeDir(cfg.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the data directory: %w", err)
	}
	path := filepath.Join(cfg.Dir, FileName)
	size := int64(0)
	if info, err := os.Stat(path); err == nil {
		size = info.Size()
	}
	db, err := within(checkTimeout(size), path, func() (*bbolt.DB, error) { return openIntact(path) })
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	m, high, err := openMark(filepath.Join(cfg.Dir, MarkName))
	if err != nil {
		return nil, err
	}
	if err := files.SyncDir(cfg.Dir); err != nil { // both files may be new
		return nil, errors.Join(fmt.Errorf("sync the data directory: %w", err), m.close())
	}
	content, err := load(db, cfg)
	switch {
	case errors.Is(err, ErrSealed):
		err = fmt.Errorf("open the store %s: %w", path, err)
	case err != nil:
		err = damaged(path, err)
	case content.revision < high:
		err = damaged(path, fmt.Errorf("it ends at revision %d, but revision %d was acknowledged", content.revision, high))
	}
	if err != nil {
		return nil, errors.Join(err, m.close())
	}
	s = &Store{cfg: cfg, db: db, mark: m, kept: content.history, problems: content.problems}
	s.Store = memory.New(snapshot.New(content.revision, content.objects...), s.keep, cfg.Now)
	return s, nil
}

var errEndless = errors.New("reading it does not come to an end")

// within is what open answers in time; else the file at the path is damaged. An
// answer that comes later is closed again, so that nothing stays locked.
func within[T io.Closer](limit time.Duration, path string, open func() (T, error)) (T, error) {
	type opened struct {
		what T
		err  error
	}
	done := make(chan opened, 1)
	go func() {
		what, err := open()
		done <- opened{what, err}
	}()
	select {
	case o := <-done:
		return o.what, o.err
	case <-time.After(limit):
		go func() {
			if late := <-done; late.err == nil {
				_ = late.what.Close()
			}
		}()
		var none T
		return none, damaged(path, errEndless)
	}
}

// openIntact opens a file whose structure is whole.
func openIntact(path string) (*bbolt.DB, error) {
	switch err := verify(path); {
	case errors.Is(err, errInUse), errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("open the store %s: %w", path, err)
	case err != nil:
		return nil, damaged(path, err)
	}
	return openDB(path)
}

// openDB opens the file; the list of free pages is not kept but rebuilt, so
// that a damaged list cannot make live pages look free.
func openDB(path string) (db *bbolt.DB, err error) {
	var file *os.File // bbolt leaves it open, mapped and locked, when it panics
	defer func() {
		if err != nil && file != nil {
			_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
			_ = file.Close()
		}
	}()
	defer recoverDamage(path, &err)
	db, err = bbolt.Open(path, 0o600, &bbolt.Options{Timeout: time.Second, NoFreelistSync: true, FreelistType: bbolt.FreelistMapType,
		OpenFile: func(name string, flag int, perm os.FileMode) (f *os.File, err error) {
			file, err = os.OpenFile(name, flag, perm)
			return file, err
		}})
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return nil, fmt.Errorf("open the store %s: %w", path, errInUse)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("open the store: %w; give this user the right to write it, or another --data-dir", err)
	case err != nil:
		return nil, damaged(path, err)
	}
	return db, nil
}

// damaged is the refusal that people can act on.
func damaged(path string, why error) error {
	return fmt.Errorf("the store %s is damaged: %w; `weft store check --data-dir %s` says what can be saved, `weft store export` saves it",
		path, why, filepath.Dir(path))
}

// recoverDamage turns a panic over a damaged file, a bad memory access through
// its mapping included, into the refusal.
func recoverDamage(path string, err *error) {
	if r := recover(); r != nil {
		*err = damaged(path, fmt.Errorf("%v", r))
	}
}

// Problems are the stored documents that cannot be read.
func (s *Store) Problems() []*api.Violation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Apply does all writes of plan, or none. A document that could not be read can
// be replaced and deleted like any other.
func (s *Store) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	snapshot, results, err := s.Store.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		writes, err := plan(now)
		s.orphans = s.orphaned(writes)
		return writes, err
	})
	if err == nil && len(s.orphans) > 0 { // nothing else was to be kept
		err = s.commit(store.Revision{Number: snapshot.Revision(), Time: s.cfg.Now()}, nil)
	}
	if err != nil {
		return nil, nil, err
	}
	s.settle(results)
	return snapshot, results, nil
}

// keep makes one step durable before it is published.
func (s *Store) keep(revision store.Revision, changes []snapshot.Change) error {
	if err := s.commit(revision, changes); err != nil {
		return err
	}
	if err := s.mark.set(revision.Number); err != nil {
		// The step itself is durable; only the next ones would go unguarded.
		err = fmt.Errorf("write the revision beside %s: %w", s.db.Path(), err)
		s.stopped.Store(&err)
	}
	return nil
}

// Durable is true: the file has the last revision.
func (s *Store) Durable() bool { return true }

// Health is why nothing is written now. A disk that has failed once may have
// lost what it said it kept, so only a restart, which reads everything again,
// ends that; a full one takes writes again when there is room.
func (s *Store) Health() error {
	if err := s.failed(); err != nil {
		return err
	}
	return s.full.why(s.cfg)
}

// failed is why nothing more is written until the store is opened again.
func (s *Store) failed() error {
	if why := s.stopped.Load(); why != nil {
		return fmt.Errorf("%w since %w; free the cause and restart", store.ErrStopped, *why)
	}
	return nil
}

// commit writes changes and what is orphaned, unless the store has stopped.
func (s *Store) commit(revision store.Revision, changes []snapshot.Change) error {
	if err := s.failed(); err != nil {
		return err
	}
	err := s.write(revision, changes)
	s.full.noted(err)
	if err != nil {
		err = fmt.Errorf("write %s: %w", s.db.Path(), err)
		if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, errUnwritable) {
			s.stopped.Store(&err) // what is on the disk is not known any more
		}
		return err
	}
	s.orphans = nil
	return nil
}

// Close ends the watches and closes the files, when what is being applied is done.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return errors.Join(s.Store.Close(), s.db.Close(), s.mark.close())
}
