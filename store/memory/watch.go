package memory

import (
	"context"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// watch holds what its reader has not seen yet: one change for each object, so
// that its size is bounded by the number of objects however slow the reader is.
type watch struct {
	of    *Store
	ready chan struct{} // has a token while latest is set
	done  chan struct{}

	mu      sync.Mutex
	latest  *snapshot.Snapshot // nil while the reader has seen everything
	pending []snapshot.Change
	index   map[api.Ref]int // of pending
}

func (w *watch) add(s *snapshot.Snapshot, changes []snapshot.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = s
	if w.pending == nil {
		w.pending = changes[:len(changes):len(changes)]
	} else {
		w.fold(changes)
	}
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// fold lays changes over those that wait; what appeared and went again is a
// change from nothing to nothing, which Next leaves out.
func (w *watch) fold(changes []snapshot.Change) {
	if w.index == nil {
		w.pending = append([]snapshot.Change(nil), w.pending...) // it was the publisher's
		w.index = make(map[api.Ref]int, len(w.pending)+len(changes))
		for i, c := range w.pending {
			w.index[c.Ref()] = i
		}
	}
	for _, c := range changes {
		ref := c.Ref()
		if i, ok := w.index[ref]; ok {
			w.pending[i].After = c.After
			continue
		}
		w.index[ref] = len(w.pending)
		w.pending = append(w.pending, c)
	}
}

// Next waits for something new.
func (w *watch) Next(ctx context.Context) (*snapshot.Snapshot, []snapshot.Change, error) {
	for {
		select {
		case <-w.done: // however much waits: what is closed says nothing more
			return nil, nil, store.ErrClosed
		default:
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-w.done:
			return nil, nil, store.ErrClosed
		case <-w.ready:
		}
		if s, changes := w.take(); s != nil {
			return s, changes, nil
		}
	}
}

// take is what waits; the snapshot is nil where nothing does. Changes that took
// each other back leave a snapshot without changes.
func (w *watch) take() (*snapshot.Snapshot, []snapshot.Change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, changes := w.latest, w.pending
	if w.index != nil {
		kept := changes[:0]
		for _, c := range changes {
			if c.Before != c.After {
				kept = append(kept, c)
			}
		}
		changes = kept
	}
	w.latest, w.pending, w.index = nil, nil, nil
	return s, changes
}

// Stop ends the watch.
func (w *watch) Stop() {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	if w.of.watches[w] {
		delete(w.of.watches, w)
		close(w.done)
	}
}
