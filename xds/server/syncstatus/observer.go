package syncstatus

import (
	"time"

	"github.com/weftmesh/weft/api"
)

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
	// Stirred is told whenever Server.Status may say something new of a dataplane.
	Stirred(api.Ref)
}

// Nobody observes nothing.
type Nobody struct{}

// Connected does nothing.
func (Nobody) Connected(Peer) {}

// Rendered does nothing.
func (Nobody) Rendered(Peer, uint64, time.Duration) {}

// Pushed does nothing.
func (Nobody) Pushed(Peer, Push) {}

// Acked does nothing.
func (Nobody) Acked(Peer, Push, time.Duration) {}

// Nacked does nothing.
func (Nobody) Nacked(Peer, Nack) {}

// Synced does nothing.
func (Nobody) Synced(Peer, uint64) {}

// Disconnected does nothing.
func (Nobody) Disconnected(Peer, error) {}

// Stirred does nothing.
func (Nobody) Stirred(api.Ref) {}
