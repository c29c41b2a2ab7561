package store

import (
	"context"
	"errors"
)

// Coordination is what control planes have in common that serve the documents of one store at a time, as its
// replicas. What is nil a configuration leaves out.
type Coordination struct {
	Leader Leader // nil: this replica takes part in no election, and never leads
	Writer LeaderWriter
	// FollowReplicas tells found all replicas, this one too, at first and whenever they are others, in order of their
	// names and from one goroutine, until ctx ends or the store is closed; nil: they do not know each other.
	FollowReplicas func(ctx context.Context, found func([]ReplicaAddress))
	Secrets        SharedSecrets // nil: replicas share none
}

// Leader elects one replica at a time, which does what must be done once.
type Leader interface {
	// Leads reports whether this replica leads now: no other begins to lead while it is true, even where this
	// process was frozen meanwhile.
	Leads() bool
	// Run takes part until ctx ends. Each time that this replica becomes the leader it calls lead with a
	// context that ends with the leadership, and waits for its return before another replica may lead.
	Run(ctx context.Context, lead func(context.Context))
	// Annotation is what a leader has left for those after it, by key; empty where none has.
	Annotation(ctx context.Context, key string) (string, error)
	// SetAnnotation leaves it. It is ErrNotLeading where this replica does not lead.
	SetAnnotation(ctx context.Context, key, value string) error
}

// LeaderWriter writes documents of control planes themselves, as the leader alone may.
type LeaderWriter interface {
	// IsLeading reports whether this replica leads, and its snapshot has all that leaders before it wrote.
	IsLeading() bool
	// Apply does the writes of plan, which is made of the newest snapshot, and again where somebody else wrote
	// the same documents meanwhile. It returns when the snapshot has them. It is ErrNotLeading where IsLeading is
	// false, and nothing of a replica arrives that leads no more. Writes may become visible one after the other,
	// in their order; of those that fail the first and what follows it are not done.
	Apply(ctx context.Context, plan Plan) error
}

// ReplicaAddress is one replica as the others find it.
type ReplicaAddress struct {
	Address string // HOST:PORT for sidecars, where replicas answer too
	Name    string // empty where nobody says
	Ready   bool   // whoever asks is sent to it
	// Stopping says that it is about to end, and holds sidecars until they have moved.
	Stopping bool
}

// SharedSecrets are small values that all replicas read and write, and nobody else may: keys, and what was revoked.
type SharedSecrets interface {
	// Value is one of them, nil while it is not known, or where there is none; changed is closed when some value is another.
	Value(name string) (value []byte, changed <-chan struct{})
	// Change writes what change makes of the newest value, nil where there is none; change is asked again where another
	// replica was faster. When it returns nil the value is stored, and this replica sees it as all others do.
	Change(ctx context.Context, name string, change func(old []byte) ([]byte, error)) error
	// Waiting is why they are not known yet; nil from when they are.
	Waiting() error
	// Fault is why they cannot be read or written now, be it that they are known; nil where they can.
	Fault() error
	// Run keeps them known until ctx ends.
	Run(ctx context.Context)
	// String is where people find them, such as "Secret weft-ca".
	String() string
}

// Why a replica has not written something to a store that others write too. What that has said stands behind it.
var (
	ErrNotLeading = errors.New("this replica does not lead, so it writes nothing")
	ErrExists     = errors.New("there is such an object already")
	ErrChanged    = errors.New("the object has changed meanwhile")
	ErrGone       = errors.New("there is no such object, or no such namespace")
	ErrNotServed  = errors.New("the cluster does not serve the kind")
)
