package push

import (
	"log/slog"
	"time"

	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Options is how streams are served.
type Options struct {
	Logger *slog.Logger
	// Observer is told what happens on streams; where it is nil, a server tells nobody.
	Observer syncstatus.Observer
	// ResponseBytes is where a delta response is split.
	ResponseBytes int
	// HoldRoutes is how long a route waits for a new cluster to be confirmed.
	HoldRoutes time.Duration
	// Drain is how long routes and clusters stay that a listener named which went or
	// leads elsewhere now: the connections that it accepted live as long in an Envoy
	// whose drain time it is.
	Drain time.Duration
	// ResendEvery is the least time between two attempts to replace what an
	// Envoy refuses.
	ResendEvery time.Duration
	// LogEvery is the least time between two lines of the log about one cause for
	// which one sidecar refuses what it is sent; all refusals are counted.
	LogEvery time.Duration
	// Slow is how long a client may take to confirm a response before its status says so.
	Slow time.Duration
}
