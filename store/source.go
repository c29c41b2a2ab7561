package store

import (
	"context"
	"time"
)

// BackingStore is a Store as a control plane opens it, which says where its documents come from. All methods may be
// called concurrently.
type BackingStore interface {
	Store
	// Synced waits until all that there was at the start is in the snapshot. Its error is that of ctx.
	Synced(ctx context.Context) error
	// Waiting is what Synced waits for, nil once that is there and from then on. Until then the snapshot is
	// empty, which says nothing about what there is.
	Waiting() error
	// Stale is for how long it has not been heard what others write; zero while that is followed.
	Stale() time.Duration
	// Gone reports whether a document that the snapshot does not have, although Waiting is nil, is not there at
	// all: false where there may be one that cannot be read.
	Gone(kind, name string) bool
	// ReadOnly is why users write nothing by Apply, as an ErrReadOnly; nil where they do.
	ReadOnly() error
	// Durable reports whether revisions go on where the last process ended, so that the number of one may be
	// written down.
	Durable() bool
}

// LocalStore is embedded by a BackingStore of documents that were read when it was opened, which nobody else writes, and
// which end with the process.
type LocalStore struct{}

func (LocalStore) Synced(context.Context) error { return nil }
func (LocalStore) Waiting() error               { return nil }
func (LocalStore) Stale() time.Duration         { return 0 }
func (LocalStore) Gone(string, string) bool     { return true }
func (LocalStore) ReadOnly() error              { return nil }
func (LocalStore) Durable() bool                { return false }
