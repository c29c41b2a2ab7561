package storage

import (
	"sync"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// rememberedAuthors is of how many revisions it is known who wrote them.
const rememberedAuthors = 256

// Authors remembers who wrote the last revisions, for the events about them.
type Authors struct {
	mu   sync.Mutex
	last [rememberedAuthors]struct {
		revision uint64
		store.Author
	}
}

// noting is plan, of which it is remembered that an author writes what it says: before
// anybody is told of the revision.
func (a *Authors) noting(by store.Author, plan store.Plan) store.Plan {
	return func(now *snapshot.Snapshot) ([]store.Write, error) {
		a.mu.Lock()
		next := now.Revision() + 1
		at := &a.last[next%rememberedAuthors]
		at.revision, at.Author = next, by
		a.mu.Unlock()
		return plan(now)
	}
}

// Of is who wrote what changed at a revision; nobody where that is not known.
func (a *Authors) Of(c snapshot.Change, revision uint64) store.Author {
	if c.After != nil {
		revision = c.After.Revision // several revisions may come as one
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.last[revision%rememberedAuthors]; at.revision == revision {
		return at.Author
	}
	return store.Author{}
}
