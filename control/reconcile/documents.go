package reconcile

import (
	"context"
	"net/http"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// documents is the store and what is made of it, as the API uses them.
type documents struct {
	store.Store
	loop    *Loop
	waiting func() error // what the store has not read yet; nil for nothing
}

// NewDocuments are those of a store, as far as a loop has resolved them.
func NewDocuments(s store.Store, l *Loop, waiting func() error) documents {
	return documents{s, l, waiting}
}

// Model is what holds; it covers everything that was acknowledged before. While the store
// has not read everything there is none, and nobody waits for it.
func (d documents) Model(ctx context.Context) (*resolve.Model, error) {
	if d.waiting() != nil {
		return nil, ErrUnread
	}
	return d.loop.Model(ctx, d.Snapshot().Revision())
}

var ErrUnread = httpapi.Refusal(http.StatusServiceUnavailable, "the documents of the cluster are not read yet; /readyz says what is waited for, try again")

// Serves reports which dataplanes a model has.
func Serves(m *resolve.Model) func(api.Ref) bool {
	return func(ref api.Ref) bool {
		_, ok := m.Dataplane(ref)
		return ok
	}
}
