// Package memory is the store that forgets when the process ends. Other stores
// stand on it: it owns the order of publications and the watches, and hands
// every step to a Persist before anybody sees it.
package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Persist makes a step durable. It is called by one goroutine at a time, and
// only what it returns nil for is published. The revision has no objects yet.
type Persist func(revision store.Revision, changes []snapshot.Change) error

// Store is a store.Store in memory.
type Store struct {
	store.LocalStore
	now    func() time.Time
	keep   Persist
	past   past
	latest atomic.Pointer[snapshot.Snapshot]

	writing sync.Mutex // held while a step is planned, kept and published
	mu      sync.Mutex // guards watches and closed
	watches map[*watch]bool
	closed  bool
}

var (
	_ store.BackingStore = (*Store)(nil)
	_ store.History      = (*Store)(nil)
)

// New begins with start; keep may be nil. It reads the time from now.
func New(start *snapshot.Snapshot, keep Persist, now func() time.Time) *Store {
	s := &Store{now: now, keep: keep, watches: map[*watch]bool{}}
	s.latest.Store(start)
	return s
}

// Snapshot is everything, as of the last publication.
func (s *Store) Snapshot() *snapshot.Snapshot { return s.latest.Load() }

// Problems is empty: nothing gets in here undecoded.
func (s *Store) Problems() []*api.Violation { return nil }

// Health is nil: memory does not fail.
func (s *Store) Health() error { return nil }

// Apply does all writes of plan, or none.
func (s *Store) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, nil, fmt.Errorf("apply: %w", err)
	}
	if s.isClosed() {
		return nil, nil, store.ErrClosed
	}
	before := s.latest.Load()
	writes, err := plan(before)
	if err != nil {
		return nil, nil, err
	}
	at := s.now().UTC().Truncate(time.Microsecond)
	changes, results := store.Changes(before, writes, at)
	if len(changes) == 0 {
		return before, results, nil
	}
	revision := store.Revision{Number: before.Revision() + 1, Time: at, Author: store.AuthorOf(ctx)}
	if s.keep != nil {
		if err := s.keep(revision, changes); err != nil {
			return nil, nil, err
		}
	}
	s.past.add(revision, changes)
	after := before.With(revision.Number, changes)
	s.publish(after, changes)
	return after, results, nil
}

// Publish makes one revision of what has happened elsewhere: objects are as they are now,
// nil where there is none any more. Their times are their own; what says the same keeps
// its revision. Where nothing changed no revision is made. First is told the revision that
// holds then, before anybody sees it; it may be nil.
func (s *Store) Publish(objects map[api.Ref]*api.Object, first func(revision uint64)) *snapshot.Snapshot {
	if first == nil {
		first = func(uint64) {}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	before := s.latest.Load()
	revision := before.Revision() + 1
	var changes []snapshot.Change
	for _, ref := range slices.SortedFunc(maps.Keys(objects), api.Ref.Compare) {
		c := snapshot.Change{After: objects[ref]}
		c.Before, _ = before.Get(ref)
		if c.Before == c.After || c.Before != nil && c.After != nil && c.Before.ResourceVersion == c.After.ResourceVersion && store.Same(c.Before, c.After) {
			continue
		}
		if c.After != nil {
			o := *c.After
			o.Revision = revision
			if store.SaysNothingNew(c) {
				o.Revision = c.Before.Revision
			}
			c.After = &o
		}
		changes = append(changes, c)
	}
	if len(changes) == 0 || s.isClosed() {
		first(before.Revision())
		return before
	}
	first(revision)
	after := before.With(revision, changes)
	s.publish(after, changes)
	return after
}

func (s *Store) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Store) publish(after *snapshot.Snapshot, changes []snapshot.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest.Store(after)
	for w := range s.watches {
		w.add(after, changes)
	}
}

// Watch begins with the latest snapshot.
func (s *Store) Watch() (*snapshot.Snapshot, store.Watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &watch{of: s, ready: make(chan struct{}, 1), done: make(chan struct{})}
	if s.closed {
		close(w.done)
	} else {
		s.watches[w] = true
	}
	return s.latest.Load(), w
}

// Close ends the watches. Applies that have begun finish first.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for w := range s.watches {
		close(w.done)
	}
	clear(s.watches)
	return nil
}
