package server

import (
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// SyncStatus is how far one sidecar is.
type SyncStatus struct {
	Dataplane api.Ref
	Connected bool
	Streams   int
	Since     time.Time // when the newest stream was opened
	Until     time.Time // when the last one ended; zero while there is one
	Protocol  string    // delta, sotw
	// Client and Version are what the node says of itself: envoy, 1.40.0. Agent is
	// the version of the program that started it, where its metadata tells it.
	Client, Version, Agent string
	// Published is the revision up to which the sidecar was told everything
	// that concerns it, Acked the one up to which it has confirmed it. Where
	// nothing is outstanding both are the server's revision.
	Published, Acked uint64
	InSync           bool
	// Confirmed is what the client has last confirmed as a whole on this stream;
	// nil for nothing. While it is behind, what is the same in both has arrived.
	Confirmed *effective.Resolved
	Types     map[string]TypeStatus // by short name: cds, eds, sds, lds, rds
	// Nack is the last refusal; it stays, with Current false, when a later
	// configuration was accepted.
	Nack *Nack
	// Note is what keeps the sidecar without its configuration.
	Note string
	// Rest is what a client that refuses something has confirmed, but for resources of the names
	// Lacks; nil where that is not known, and where it refuses nothing.
	Rest  *effective.Resolved
	Lacks []string
	// Unconfirmed is what it has taken longer for than Options.Slow.
	Unconfirmed []Unconfirmed
}

// Unconfirmed is a type of which a client neither confirms nor refuses a response, or for which an
// Envoy does not ask though it has clusters.
type Unconfirmed struct {
	Type  string // cds, eds, sds, lds, rds
	Asked bool   // it asked for the type, and has a response
	Since time.Time
	// Resolving are clusters that it may wait for since they are reached by names, of very many the
	// first. An Envoy that starts asks for listeners when its clusters are ready, one that runs confirms
	// clusters when they are, and these are when DNS has answered or was given up.
	Resolving []string
}

// TypeStatus counts responses of one type on the newest stream.
type TypeStatus struct {
	Sent, Acked, Nacked uint64
	Resources           int // that the sidecar should hold now
}

// Nack is one refusal of a client.
type Nack struct {
	At        time.Time
	Type      string   // cds, eds, sds, lds, rds
	Resources []string // that the refusal names, else all of the response
	Message   string   // the client's words
	Revision  uint64
	Current   bool // the refused configuration is still the one that it should have
	// Acked is the revision that it had confirmed before on this stream, and goes on with; 0 for
	// none. Brought says that it had resources of an earlier stream.
	Acked   uint64
	Brought bool
}

// Peer is the other side of a stream.
type Peer struct {
	Dataplane api.Ref
	Stream    uint64 // unique in this server
	Protocol  string // delta, sotw
	// Client, Version and Agent are as in SyncStatus.
	Client, Version, Agent string
	// Proof is who it has proved to be, of a sidecar whose agent makes no key for its workload;
	// nil of all others.
	Proof *Identity
}

// Push is one response.
type Push struct {
	Type      string // cds, eds, sds, lds, rds
	Resources int
	Removed   int
	Bytes     int
	Revision  uint64
}

// Observer is told what happens on streams. It must be quick and must not call
// the server: a stream waits until it returns.
type Observer interface {
	Connected(Peer)
	// Rendered is told how long it took to make what the client should have of a revision.
	Rendered(Peer, uint64, time.Duration)
	Pushed(Peer, Push)
	// Acked is told how long the client took.
	Acked(Peer, Push, time.Duration)
	Nacked(Peer, Nack)
	// Synced is told when a client has confirmed everything of a revision.
	Synced(Peer, uint64)
	Disconnected(Peer, error)
	// Stirred is told whenever Status may say something new of a dataplane.
	Stirred(api.Ref)
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Connected(Peer)                       {}
func (nobody) Rendered(Peer, uint64, time.Duration) {}
func (nobody) Pushed(Peer, Push)                    {}
func (nobody) Acked(Peer, Push, time.Duration)      {}
func (nobody) Nacked(Peer, Nack)                    {}
func (nobody) Synced(Peer, uint64)                  {}
func (nobody) Disconnected(Peer, error)             {}
func (nobody) Stirred(api.Ref)                      {}

// IsGRPC reports whether what a client says of itself is what gRPC's own clients say, which have no
// sidecar: "gRPC Go", "grpc-java".
func IsGRPC(client string) bool { return strings.HasPrefix(strings.ToLower(client), "grpc") }
