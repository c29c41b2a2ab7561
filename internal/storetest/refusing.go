package storetest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// Refusing is a store that refuses writes for as long as Refuses says, and counts
// those.
type Refusing struct {
	store.Store
	Refuses  atomic.Bool
	Attempts atomic.Int32
}

// Health is why it refuses.
func (s *Refusing) Health() error {
	if s.Refuses.Load() {
		return errors.New("no space left on device")
	}
	return nil
}

// Apply refuses, or applies.
func (s *Refusing) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	if s.Refuses.Load() {
		s.Attempts.Add(1)
		return nil, nil, errors.New("no space left on device")
	}
	return s.Store.Apply(ctx, plan)
}
