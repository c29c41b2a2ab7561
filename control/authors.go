package control

import (
	"sync"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// authors remembers who wrote the last revisions, for the events about them.
type authors struct {
	mu   sync.Mutex
	last [remembered]struct {
		revision uint64
		store.Author
	}
}

// noting is plan, of which it is remembered that an author writes what it says: before
// anybody is told of the revision.
func (a *authors) noting(by store.Author, plan store.Plan) store.Plan {
	return func(now *api.Snapshot) ([]store.Write, error) {
		a.mu.Lock()
		next := now.Revision() + 1
		at := &a.last[next%remembered]
		at.revision, at.Author = next, by
		a.mu.Unlock()
		return plan(now)
	}
}

// of is who wrote what changed at a revision; nobody where that is not known.
func (a *authors) of(c api.Change, revision uint64) store.Author {
	if c.After != nil {
		revision = c.After.Revision // several revisions may come as one
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.last[revision%remembered]; at.revision == revision {
		return at.Author
	}
	return store.Author{}
}
