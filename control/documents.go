package control

import (
	"context"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// documents is the store and what is made of it, as the API uses them.
type documents struct {
	store.Store
	loop *loop
}

// Model is what holds; it covers everything that was acknowledged before.
func (d documents) Model(ctx context.Context) (*resolve.Model, error) {
	return d.loop.model(ctx, d.Snapshot().Revision())
}
