package control

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// guests are the Dataplanes that sidecars brought along. One that stays away
// for longer than the grace is removed, so that no traffic goes to a workload
// that is gone.
type guests struct {
	into      store.Store
	connected func(api.Ref) bool
	after     time.Duration
	log       *slog.Logger

	mu     sync.Mutex
	timers map[api.Ref]*time.Timer
	closed bool
}

// firstVisit is how much longer than usual a sidecar may take that has just
// asked for its bootstrap, or lived when the control plane was restarted.
const firstVisit = time.Minute

func newGuests(into store.Store, connected func(api.Ref) bool, after time.Duration, log *slog.Logger) *guests {
	g := &guests{into: into, connected: connected, after: after, log: log, timers: map[api.Ref]*time.Timer{}}
	for o := range into.Snapshot().OfKind(api.KindDataplane) {
		if o.Source.File == bootstrapSource {
			g.expect(o.Ref, after+firstVisit)
		}
	}
	return g
}

// arrived is told of a sidecar that got its bootstrap and will connect.
func (g *guests) arrived(ref api.Ref) { g.expect(ref, g.after+firstVisit) }

// left is told of the end of a stream.
func (g *guests) left(ref api.Ref) {
	if o, ok := g.into.Snapshot().Get(ref); ok && o.Source.File == bootstrapSource {
		g.expect(ref, g.after)
	}
}

// expect removes the Dataplane unless its sidecar is connected then.
func (g *guests) expect(ref api.Ref, within time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	if t := g.timers[ref]; t != nil {
		t.Stop()
	}
	var own *time.Timer
	own = time.AfterFunc(within, func() {
		g.mu.Lock()
		current := g.timers[ref] == own && !g.closed
		if current {
			delete(g.timers, ref)
		}
		g.mu.Unlock()
		if current {
			g.remove(ref)
		}
	})
	g.timers[ref] = own
}

func (g *guests) remove(ref api.Ref) {
	if g.connected(ref) {
		return
	}
	if o, ok := g.into.Snapshot().Get(ref); !ok || o.Source.File != bootstrapSource {
		return
	}
	if _, _, err := g.into.Apply(context.Background(), []store.Write{{Delete: &ref}}); err != nil {
		g.log.Error("dataplane of a sidecar that is gone was not removed", "dataplane", ref.String(), "error", err)
		return
	}
	g.log.Info("dataplane removed, its sidecar is gone", "dataplane", ref.String())
}

// close forgets all timers.
func (g *guests) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	for _, t := range g.timers {
		t.Stop()
	}
}
