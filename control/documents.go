package control

import (
	"context"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// documents is the store and what is made of it, as the API uses them.
type documents struct {
	store.Store
	loop    *loop
	waiting func() error // what the store has not read yet; nil for nothing
}

// Model is what holds; it covers everything that was acknowledged before. While the store
// has not read everything there is none, and nobody waits for it.
func (d documents) Model(ctx context.Context) (*resolve.Model, error) {
	if d.waiting() != nil {
		return nil, errUnread
	}
	return d.loop.model(ctx, d.Snapshot().Revision())
}
