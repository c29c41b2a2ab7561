package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/push"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Renderer makes Envoy's resources; *xds.Renderer is the one.
type Renderer interface {
	Render(*effective.Resolved) *resource.State
	RenderGRPC(*effective.Resolved) *resource.State
}

// Options is how a Server runs.
type Options struct {
	push.Options
	Renderer Renderer
	// RendererFor renders for an Envoy by what it said of its agent; nil: Renderer does for all.
	RendererFor func(bootstrap.AgentFeatures) Renderer

	Authenticator authn.Authenticator
	// Hold keeps a stream for as long as it does not return before it joins, which ends with ctx;
	// nil keeps none.
	Hold func(ctx context.Context, p syncstatus.Peer)
	// Refused is told of each stream that is not let in: who it claims to be, which nobody has proved and
	// may be empty, and why not; nil tells nobody.
	Refused func(node string, err error)

	// StreamsPerIdentity is how many streams one dataplane may have: two, so
	// that a restarted Envoy need not wait until its predecessor is gone.
	StreamsPerIdentity int
	// Sends is how many responses may be encoded at the same time; each is a
	// whole message in memory. 0 is four for each processor.
	Sends int
	// FirstRequest is how long a stream may stay silent before it says who it is.
	FirstRequest time.Duration
}

// ByFeatures is a RendererFor of what finds renderers of one type, as (*xds.Renderer).For does.
func ByFeatures[R Renderer](of func(bootstrap.AgentFeatures) R) func(bootstrap.AgentFeatures) Renderer {
	return func(f bootstrap.AgentFeatures) Renderer { return of(f) }
}

// Default is the configuration of a server for real sidecars, without the parts
// that only the caller has.
func Default() Options {
	return Options{
		Options: push.Options{
			Logger:        slog.New(slog.DiscardHandler),
			ResponseBytes: 256 << 10,
			HoldRoutes:    2 * time.Second,
			Drain:         30 * time.Second,
			ResendEvery:   5 * time.Second,
			LogEvery:      time.Minute,
			Slow:          5 * time.Second,
		},
		Authenticator:      authn.Anyone{},
		StreamsPerIdentity: 2,
		FirstRequest:       10 * time.Second,
	}
}
