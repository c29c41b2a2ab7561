package mtls

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/peers"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/attached"
)

// Insights are what sidecars say of themselves at run time, as far as the configuration depends
// on it: DataplaneInsights of the model. One goroutine tells the loop, so that many sidecars
// that come at once are one step.
type Insights struct {
	*Parts
	wake  chan struct{}
	began atomic.Int64 // when the loop was told first, in nanoseconds since 1970

	unsaved bool      // the file is not as it should be; of the goroutine that looks
	urgent  bool      // and has to be written before the next publication; of that goroutine too
	saved   time.Time // when it was written last
	waiting []api.Ref // whose Envoys have yet to acknowledge; of that goroutine too
	wanting []wanting // who are to be asked for another certificate; of that goroutine too
	relied  reliance

	*records                  // whose mu guards what follows too
	stale    map[api.Ref]bool // to be looked at
	ended    map[api.Ref]bool // whose certificates had ended when they were looked at
	observed store.Position   // how far peers are with what they have told and was not looked at
}

// Parts are those of a control plane that it takes to bring meshes to mutual TLS and back. What is not
// known yet as insights and leaves are made of them is set before the first stream.
type Parts struct {
	DataDir   string
	Shared    bool          // of a store with replicas: what is known is not written down, they tell each other
	HoldPlain time.Duration // for how long inbounds wait at most until others know that they take TLS
	Zone      api.Zone
	Now       func() time.Time
	Log       *slog.Logger

	Own        store.Store // what the control plane writes to
	Keeper     *authorities.CAController
	Loop       *reconcile.Loop
	Sidecars   connections.Sidecars
	Reconnects *connections.Reconnects
	Agents     *attached.Server
	Peers      *peers.Replica // nil where there are none

	Serving func() bool
	Mark    func(dps ...api.Ref)                         // has dataplanes counted again
	NoProof func() (why api.IdentityRefusal, is bool)    // why nobody gets a certificate here
	Certify func(dp api.Ref) bool                        // asks a sidecar to have another certificate; false where it is not here
	Expire  func(at time.Time)                           // forgets what bounds certificates
	Showed  func(dp api.Ref, proves *attach.Certificate) // is told of a certificate that proves nothing

	records records
	issued  *IssuedCertificates
}

// The rhythm of insights.
const (
	gather     = 20 * time.Millisecond  // what comes within it is told together
	lookAgain  = 250 * time.Millisecond // at those who have yet to acknowledge
	sweepEvery = time.Minute            // how often ends of certificates are looked for
)

func NewInsights(by *Parts) *Insights {
	return &Insights{Parts: by, wake: make(chan struct{}, 1), records: &by.records, stale: map[api.Ref]bool{}, ended: map[api.Ref]bool{},
		relied: reliance{left: map[string]disabledMesh{}}}
}

// OverADS is told of a stream whether its sidecar has no agent that makes a key.
func (x *Insights) OverADS(dp api.Ref, is bool) {
	x.mu.Lock()
	i := x.insight(dp.AsNode())
	if is {
		i = x.entry(dp.AsNode())
	}
	changed := i != nil && i.overADS != is
	if changed {
		i.overADS = is
	}
	x.mu.Unlock()
	if changed {
		x.Enqueue(dp)
	}
}

// Enqueue has a dataplane looked at again. It never waits.
func (x *Insights) Enqueue(dps ...api.Ref) {
	x.mu.Lock()
	for _, dp := range dps {
		x.stale[dp.AsNode()] = true
	}
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Run keeps the loop told until ctx ends.
func (x *Insights) Run(ctx context.Context) {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			x.save(true)
			return
		case <-sweep.C:
			x.Sweep()
			continue
		case <-x.wake:
		}
		select {
		case <-ctx.Done():
			x.save(true)
			return
		case <-time.After(gather):
		}
		x.look(ctx)
		x.save(false)
	}
}

// Sweep has all looked at, whose certificates may have ended, and what counts no more forgotten.
func (x *Insights) Sweep() {
	now := x.Now()
	x.mu.Lock()
	x.expire(now)
	x.mu.Unlock()
	x.Expire(time.Now())
	x.Enqueue(x.All()...)
}

// look tells the loop what has changed of those that are stale.
func (x *Insights) look(ctx context.Context) {
	x.mu.Lock()
	stale, heard := x.stale, x.observed
	x.stale, x.observed = map[api.Ref]bool{}, nil
	x.mu.Unlock()
	x.recall(stale)
	x.prove(stale)
	x.Loop.Update(func(m *resolve.Model) []snapshot.Change { return x.changes(m, stale) })
	x.ask()
	if len(x.waiting) > 0 { // nothing may happen any more that tells of it
		waiting := x.waiting
		x.waiting = nil
		time.AfterFunc(lookAgain, func() { x.Enqueue(waiting...) })
	}
	x.Keeper.Enqueue()
	if len(heard) > 0 {
		x.Loop.Delivered(ctx)
		x.Peers.Follows(heard)
	}
}

// knows reports whether there is an insight of a dataplane.
func (x *Insights) knows(name api.Ref) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.insight(name) != nil
}

// withIdentities reports of meshes, found out once for each, whether dataplanes have identities or go on with
// those of before.
func withIdentities(m *resolve.Model) func(mesh string) bool {
	known := map[string]bool{}
	return func(mesh string) bool {
		is, asked := known[mesh]
		if !asked {
			is = m.Reader(nil).Identities(mesh) || m.Leaves(mesh)
			known[mesh] = is
		}
		return is
	}
}

// changes are those of the insights of some dataplanes.
func (x *Insights) changes(m *resolve.Model, of map[api.Ref]bool) (changes []snapshot.Change) {
	now := x.Now()
	followed := x.followed(m)
	leaves := x.endDisable(m, followed)
	identities := withIdentities(m)
	for dp := range of {
		if !x.knows(dp) && !identities(dp.Mesh) {
			continue // most are of such meshes, and each change is about many
		}
		if c, ok := x.one(m, dp, now, followed); ok {
			changes = append(changes, c)
		}
	}
	if len(changes) > 0 {
		slices.SortFunc(changes, func(a, b snapshot.Change) int { return a.Ref().Compare(b.Ref()) })
		x.unsaved = true
		for _, c := range changes { // acknowledged already where nothing of it concerns its Envoy
			dp := c.Ref()
			dp.Kind = api.KindDataplane
			x.Enqueue(dp)
			x.Mark(dp)
			x.tellPeers(dp)
		}
		x.learnt(changes)
	}
	if x.urgent {
		x.write()
	}
	return append(changes, leaves...)
}
