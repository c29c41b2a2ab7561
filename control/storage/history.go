package storage

import (
	"context"
	"errors"
	"fmt"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
)

// MemoryHistory is how many revisions --store memory keeps (spec/contract.md 3).
const MemoryHistory = 100

// revisions is the history of a store, which says for people where there is none.
type revisions struct {
	store.History        // nil where the store keeps none
	of            string // --store
}

// NewHistory is the history of a store of a kind, as --store names it; inner is nil where it keeps none.
func NewHistory(inner store.History, of string) store.History { return revisions{inner, of} }

// Revisions are those that are kept.
func (r revisions) Revisions(after, before uint64, each func(store.Revision) bool) error {
	if r.History == nil {
		return r.none()
	}
	return r.said(r.History.Revisions(after, before, each))
}

// Undo are the changes back to a revision.
func (r revisions) Undo(ctx context.Context, now *snapshot.Snapshot, to uint64) ([]snapshot.Change, error) {
	if r.History == nil {
		return nil, r.none()
	}
	changes, err := r.History.Undo(ctx, now, to)
	return changes, r.said(err)
}

func (r revisions) none() error {
	return noHistory(fmt.Sprintf("store %s keeps no revisions", r.of))
}

func (r revisions) said(err error) error {
	if errors.Is(err, store.ErrNoHistory) {
		return noHistory(fmt.Sprintf("store %s keeps no revisions with --history 0", r.of))
	}
	return err
}

// noHistory is a store.ErrNoHistory that says of which store.
type noHistory string

// Error is what it says.
func (e noHistory) Error() string { return string(e) }

// Is makes it a store.ErrNoHistory.
func (e noHistory) Is(target error) bool { return target == store.ErrNoHistory }
