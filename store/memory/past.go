package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// past are the last revisions of a store: at most so many. Objects are shared with the
// snapshots that held them.
type past struct {
	mu     sync.Mutex
	most   int
	steps  []step // oldest first
	oldest uint64 // revision from which on everything is known
}

type step struct {
	store.Revision
	changes []snapshot.Change
}

// Remember keeps the last revisions from here on, at most so many; without it, as with none,
// the store has no history.
func (s *Store) Remember(most int) *Store {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	s.past.most, s.past.oldest = most, s.Snapshot().Revision()
	return s
}

func (p *past) add(r store.Revision, changes []snapshot.Change) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changes = store.Lasting(changes)
	if p.most < 1 || len(changes) == 0 {
		return
	}
	r.Objects = store.ResultsOf(changes)
	p.steps = append(p.steps, step{r, changes})
	if over := len(p.steps) - p.most; over > 0 {
		p.oldest = p.steps[over-1].Number
		p.steps = slices.Delete(p.steps, 0, over)
	}
}

// Revisions are those that are kept, newest first.
func (s *Store) Revisions(after, before uint64, each func(store.Revision) bool) error {
	steps, _, err := s.past.all()
	for _, r := range slices.Backward(steps) {
		if r.Number > after && r.Number < before && !each(r.Revision) {
			break
		}
	}
	return err
}

// all are the steps that are kept, and the revision from which on everything is known.
func (p *past) all() ([]step, uint64, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.most < 1 {
		return nil, 0, store.ErrNoHistory
	}
	return slices.Clone(p.steps), p.oldest, nil
}

// Undo are the changes back to a revision.
func (s *Store) Undo(_ context.Context, now *snapshot.Snapshot, to uint64) ([]snapshot.Change, error) {
	steps, oldest, err := s.past.all()
	if err != nil {
		return nil, err
	}
	if err := store.Reachable(to, oldest, now.Revision()); err != nil {
		return nil, err
	}
	was := map[api.Ref]*api.Object{}
	for _, st := range steps {
		for _, c := range st.changes {
			if _, known := was[c.Ref()]; !known && st.Number > to && st.Number <= now.Revision() {
				was[c.Ref()] = c.Before
			}
		}
	}
	return store.Undoing(now, was), nil
}
