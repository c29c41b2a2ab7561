package control

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store/kube"
)

// insights are what sidecars say of themselves at run time, as far as the configuration depends
// on it: DataplaneInsights of the model. One goroutine tells the loop, so that many sidecars
// that come at once are one step.
type insights struct {
	plane *Plane
	wake  chan struct{}
	began atomic.Int64 // when the loop was told first, in nanoseconds since 1970

	unsaved bool      // the file is not as it should be; of the goroutine that looks
	urgent  bool      // and has to be written before the next publication; of that goroutine too
	saved   time.Time // when it was written last
	waiting []api.Ref // whose Envoys have yet to acknowledge; of that goroutine too
	wanting []wanting // who are to be asked for another certificate; of that goroutine too
	relied  relied

	*records                  // whose mu guards what follows too
	stale    map[api.Ref]bool // to be looked at
	ended    map[api.Ref]bool // whose certificates had ended when they were looked at
	heard    kube.Position    // how far peers are with what they have told and was not looked at
}

// The rhythm of insights.
const (
	gather     = 20 * time.Millisecond  // what comes within it is told together
	lookAgain  = 250 * time.Millisecond // at those who have yet to acknowledge
	sweepEvery = time.Minute            // how often ends of certificates are looked for
)

func newInsights(p *Plane) *insights {
	return &insights{plane: p, wake: make(chan struct{}, 1), records: &p.records, stale: map[api.Ref]bool{}, ended: map[api.Ref]bool{},
		relied: relied{left: map[string]left{}}}
}

// OverADS is told of a stream whether its sidecar has no agent that makes a key.
func (x *insights) OverADS(dp api.Ref, is bool) {
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
		x.stir(dp)
	}
}

// stir has a dataplane looked at again. It never waits.
func (x *insights) stir(dps ...api.Ref) {
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

// run keeps the loop told until ctx ends.
func (x *insights) run(ctx context.Context) {
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-ctx.Done():
			x.save(true)
			return
		case <-sweep.C:
			x.sweep()
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

// sweep has all looked at, whose certificates may have ended, and what counts no more forgotten.
func (x *insights) sweep() {
	now := x.plane.cfg.clock()()
	x.mu.Lock()
	x.expire(now)
	x.mu.Unlock()
	x.plane.keyless.Expire(time.Now())
	x.stir(x.all()...)
}

// look tells the loop what has changed of those that are stale.
func (x *insights) look(ctx context.Context) {
	x.mu.Lock()
	stale, heard := x.stale, x.heard
	x.stale, x.heard = map[api.Ref]bool{}, nil
	x.mu.Unlock()
	x.recall(stale)
	x.prove(stale)
	x.plane.loop.Update(func(m *resolve.Model) []api.Change { return x.changes(m, stale) })
	x.ask()
	if len(x.waiting) > 0 { // nothing may happen any more that tells of it
		waiting := x.waiting
		x.waiting = nil
		time.AfterFunc(lookAgain, func() { x.stir(waiting...) })
	}
	x.plane.keeper.Stir()
	if len(heard) > 0 {
		x.plane.loop.Delivered(ctx)
		x.plane.peers.Follows(heard)
	}
}

// knows reports whether there is an insight of a dataplane.
func (x *insights) knows(name api.Ref) bool {
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
func (x *insights) changes(m *resolve.Model, of map[api.Ref]bool) (changes []api.Change) {
	now := x.plane.cfg.clock()()
	followed := x.followed(m)
	leaves := x.isLeft(m, followed)
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
		slices.SortFunc(changes, func(a, b api.Change) int { return a.Ref().Compare(b.Ref()) })
		x.unsaved = true
		for _, c := range changes { // acknowledged already where nothing of it concerns its Envoy
			dp := c.Ref()
			dp.Kind = api.KindDataplane
			x.stir(dp)
			x.plane.census.Mark(dp)
			x.tellPeers(dp)
		}
		x.learnt(changes)
	}
	if x.urgent {
		x.write()
	}
	return append(changes, leaves...)
}
