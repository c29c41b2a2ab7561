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
	// SidecarChanged is told whenever Server.Status may say something new of a dataplane.
	SidecarChanged(api.Ref)
}

// NoObserver observes nothing.
type NoObserver struct{}

// Connected does nothing.
func (NoObserver) Connected(Peer) {}

// Rendered does nothing.
func (NoObserver) Rendered(Peer, uint64, time.Duration) {}

// Pushed does nothing.
func (NoObserver) Pushed(Peer, Push) {}

// Acked does nothing.
func (NoObserver) Acked(Peer, Push, time.Duration) {}

// Nacked does nothing.
func (NoObserver) Nacked(Peer, Nack) {}

// Synced does nothing.
func (NoObserver) Synced(Peer, uint64) {}

// Disconnected does nothing.
func (NoObserver) Disconnected(Peer, error) {}

// SidecarChanged does nothing.
func (NoObserver) SidecarChanged(api.Ref) {}
