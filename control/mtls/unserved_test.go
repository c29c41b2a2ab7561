package mtls

import (
	"log/slog"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store/memory"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/attached"
)

// unserved are the insights of a control plane that nobody can reach.
func unserved(t *testing.T) *Insights { return unservedAt(t, t.TempDir()) }

// unservedAt are those of one with a data directory.
func unservedAt(t *testing.T, dir string) *Insights {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	own := memory.New(snapshot.New(0), nil, time.Now)
	loop := reconcile.New(log, telemetry.NewObserver(telemetry.New(""), telemetry.Untraced(), events.NewBus(), new(storage.Authors)), func(*resolve.Model, resolve.Affected) {})
	options := server.Default()
	options.Logger = log
	ads := server.New(options)
	before := connections.NewReconnects(dir, time.Now(), log, func(string) bool { return false })
	t.Cleanup(before.Close)
	by := &Parts{DataDir: dir, HoldPlain: time.Minute, Now: time.Now, Log: log, Own: own, Loop: loop, Reconnects: before, Agents: attached.New(attached.Options{}),
		Sidecars: connections.NewSidecars(ads, loop, before, nil, nil),
		Serving:  func() bool { return true }, Mark: func(...api.Ref) {}, Certify: func(api.Ref) bool { return false }, Expire: func(time.Time) {},
		NoProof: func() (why api.IdentityRefusal, is bool) { return why, false }}
	by.Keeper = authorities.New(authorities.Config{Now: func() time.Time { return by.Now() }, Log: log})
	NewIssuedCertificates(by)
	loop.Begin(world.Settings{}.Empty(), own.Snapshot(), func() {})
	return NewInsights(by)
}
