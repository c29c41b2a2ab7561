// Package syncstatus is what is known of the clients of ADS: who they are, how far each has its configuration,
// what it refuses, and who is told when that changes.
package syncstatus

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// Status is how far one sidecar is.
type Status struct {
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
	// Unconfirmed is what it has taken longer for than delivery.Options.Slow.
	Unconfirmed []Unconfirmed
}

// Unconfirmed is a type of which a client neither confirms nor refuses a response, or for which an
// Envoy does not ask though it has clusters.
type Unconfirmed struct {
	Type      string // cds, eds, sds, lds, rds
	Requested bool   // it asked for the type, and has a response
	Since     time.Time
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
