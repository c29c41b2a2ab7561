// Package store says what keeps the documents: an immutable api.Snapshot with
// a revision, and a watch.
//
// A store promises that what Apply acknowledged is kept, that the writes of one
// Apply become visible together or not at all, and that a watch misses no
// change: a slow reader gets fewer, larger steps, never a gap. Its
// implementations are memory, bolt and kube below, held to one conformance suite in
// internal/storetest; file brings the documents of a directory into one of them. Where documents come from a BackingStore says, and what control planes
// have in common that serve one store is their Coordination. It refuses to judge documents: whoever writes has decoded
// and validated them.
package store

import (
	"context"
	"errors"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// Store keeps documents. All methods may be called concurrently.
type Store interface {
	// Snapshot is everything, as of the last publication.
	Snapshot() *snapshot.Snapshot
	// Apply does the writes of plan as one revision, or none of them. What plan
	// decides holds when the writes are done: nobody writes in between. An error
	// of plan refuses all of them and is returned as it is. The snapshot is the
	// one that holds the writes; where nothing changes no revision is made.
	// Results are in the order of the writes.
	Apply(ctx context.Context, plan Plan) (*snapshot.Snapshot, []Result, error)
	// Watch begins with everything; the watch has what happens afterwards.
	Watch() (*snapshot.Snapshot, Watch)
	// Problems are documents that the store holds or sees and cannot serve.
	Problems() []*api.Violation
	// Health is why the store takes no more writes for as long as it is open; nil
	// while it takes them. What it serves stays right.
	Health() error
	// Close releases files and ends the watches. It acknowledges nothing more.
	Close() error
}

// Watch is one reader of changes.
type Watch interface {
	// Next waits until the store is past what this watch has seen. Changes to
	// one object since then are one change, and the last state wins; where they
	// took each other back there is none, but the revision is told all the same.
	Next(ctx context.Context) (*snapshot.Snapshot, []snapshot.Change, error)
	// Stop ends the watch; Next returns ErrClosed.
	Stop()
}

// Plan decides what to write, by the snapshot that the writes are done to. It
// may be asked several times, so it changes nothing but what its last answer
// decides; it does not wait, and it asks nothing of the store.
type Plan func(now *snapshot.Snapshot) ([]Write, error)

// Writes is the plan to do writes whatever there is.
func Writes(writes ...Write) Plan {
	return func(*snapshot.Snapshot) ([]Write, error) { return writes, nil }
}

// Write is one thing to do: Put creates or replaces, Delete removes.
type Write struct {
	Put    *api.Object
	Delete *api.Ref
	// Own marks a write of the control plane itself, which alone decides about the
	// label weft.io/default; every other write leaves it as it is.
	Own bool
}

// Ref names the object that is written.
func (w Write) Ref() api.Ref {
	if w.Put != nil {
		return w.Put.Ref
	}
	return *w.Delete
}

// WriteAction is what a write did.
type WriteAction string

// The actions. Missing is a Delete of what is not there: it is no error, so
// that deleting twice is safe. Unchanged says that the document is as it was;
// its owner may be another.
const (
	Created   WriteAction = "created"
	Updated   WriteAction = "updated"
	Unchanged WriteAction = "unchanged"
	Deleted   WriteAction = "deleted"
	Missing   WriteAction = "missing"
)

// Result is what one write did.
type Result struct {
	Ref    api.Ref     `json:"ref"`
	Action WriteAction `json:"action"`
}

// The refusals of stores.
var (
	// ErrClosed says that the store or the watch was closed.
	ErrClosed = errors.New("the store is closed")
	// ErrStopped says that a failure has made the state of the disk unknown.
	ErrStopped = errors.New("the store takes no more writes")
	// ErrReadOnly says that documents come from elsewhere. What a store answers says
	// from where: ErrDirectory, ErrKubernetes.
	ErrReadOnly         = errors.New("this store is read-only")
	ErrDirectory  error = elsewhere("this store is read-only: its documents come from a directory; edit the files there")
	ErrKubernetes error = elsewhere("written through the Kubernetes API; use kubectl apply")
)

// elsewhere is an ErrReadOnly that says where documents are written.
type elsewhere string

// Error says what to do.
func (e elsewhere) Error() string { return string(e) }

// Is makes every such error an ErrReadOnly.
func (e elsewhere) Is(target error) bool { return target == ErrReadOnly }
