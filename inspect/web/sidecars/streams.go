// Package sidecars answers how far dataplanes follow: one by one, in lists, and counted by mesh and service.
package sidecars

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
)

// Stream is what the API shows of the sidecar of one dataplane.
type Stream struct {
	Connected       bool
	Since           time.Time // it connected
	Until           time.Time // it went; zero while it is connected
	Protocol        string    // delta, sotw
	Client, Version string    // envoy, 1.40.0
	Agent           string    // version of the program that runs the client; may be unknown
	Types           map[string]Counters
	Note            string // what keeps it without its configuration
	ControlPlane    string // name of the replica that has the stream; empty for this one
}

// Counters are numbers of responses of one type: cds, eds, lds, rds.
type Counters struct{ Sent, Acked, Nacked uint64 }

// Sidecars tells how far each dataplane follows.
type Sidecars interface {
	Sidecars() []inspect.Sidecar
	// Sidecar is one of them; false if it was never connected.
	Sidecar(api.Ref) (inspect.Sidecar, bool)
	// Stream is the state of one sidecar; false if it was never connected.
	Stream(api.Ref) (Stream, bool)
}
