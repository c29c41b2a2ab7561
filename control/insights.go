package control

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/authorities"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/store/kube"
	"github.com/weftmesh/weft/xds/server"
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
	relied  relied

	mu    sync.Mutex
	of    map[api.Ref]*insight // by the name by which a sidecar calls its dataplane
	stale map[api.Ref]bool     // to be looked at
	heard kube.Position        // how far peers are with what they have told and was not looked at
}

// insight is that of one dataplane.
type insight struct {
	shown        *attach.Certificate  // by its agent, and not proved yet
	held         *authorities.Held    // as it was proved last; nil for none
	doubt        string               // why what is shown is not proved
	sees         bool                 // its Envoy has acknowledged what the certificate is for
	seesThere    bool                 // so says the peer that has its stream
	at           api.Ref              // its object; zero while none was told
	told         api.DataplaneInsight // to the loop
	asked        string               // for which name a certificate was asked for, at askedAt
	askedAt      time.Time
	certificates int                 // that it has had
	overADS      bool                // the control plane makes its key
	connections  *attach.Connections // as its agent has told last; nil for nothing
	refused      api.IdentityRefusal // the last answer to its asking for a certificate
	skew         time.Duration       // see api.DataplaneInsight
	plainSince   time.Time           // since when it takes plain text although it is to take none
	agreed       agreed              // that it is to take none
	resumes      bool                // it is to go on taking it, and the loop was not told yet
	strict       bool                // it may take none
}

// The rhythm of insights.
const (
	gather     = 20 * time.Millisecond  // what comes within it is told together
	lookAgain  = 250 * time.Millisecond // at those who have yet to acknowledge
	sweepEvery = time.Minute            // how often ends of certificates are looked for
)

func newInsights(p *Plane) *insights {
	return &insights{plane: p, wake: make(chan struct{}, 1), of: map[api.Ref]*insight{}, stale: map[api.Ref]bool{},
		relied: relied{left: map[string]left{}}}
}

// keyless is told of a stream whether its sidecar has no agent that makes a key.
func (x *insights) keyless(dp api.Ref, is bool) {
	x.mu.Lock()
	i := x.of[called(dp)]
	if i == nil && is {
		i = &insight{}
		x.of[called(dp)] = i
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
		x.stale[called(dp)] = true
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
			x.stir(x.all()...)
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

// look tells the loop what has changed of those that are stale.
func (x *insights) look(ctx context.Context) {
	x.mu.Lock()
	stale, heard := x.stale, x.heard
	x.stale, x.heard = map[api.Ref]bool{}, nil
	x.mu.Unlock()
	x.recall(stale)
	x.prove(stale)
	x.plane.loop.tell(func(m *resolve.Model) []api.Change { return x.changes(m, stale) })
	if len(x.waiting) > 0 { // nothing may happen any more that tells of it
		waiting := x.waiting
		x.waiting = nil
		time.AfterFunc(lookAgain, func() { x.stir(waiting...) })
	}
	x.plane.keeper.Stir()
	if len(heard) > 0 {
		x.plane.loop.delivered(ctx)
		x.plane.peers.Follows(heard)
	}
}

// changes are those of the insights of some dataplanes.
func (x *insights) changes(m *resolve.Model, of map[api.Ref]bool) (changes []api.Change) {
	now := x.plane.cfg.clock()()
	followed := x.followed(m)
	leaves := x.isLeft(m, followed)
	for dp := range of {
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
			x.plane.loop.census.mark(dp)
			x.tellPeers(dp)
		}
		x.learnt(changes)
	}
	if x.urgent {
		x.write()
	}
	return append(changes, leaves...)
}

// one is the change of the insight of one dataplane; not ok where there is none.
func (x *insights) one(m *resolve.Model, name api.Ref, now time.Time, followed func(mesh string) bool) (c api.Change, ok bool) {
	ref := name.Resolve(serves(m))
	id, there := m.Identity(ref)
	var sees, connected, here, comes bool // comes: it is connected, or is waited for after a restart
	client := ""
	if there {
		st, known := x.plane.sidecars().Sidecar(ref)
		connected, client = known && st.Connected, st.Client
		// A peer that has its stream tells: only there it is known what its Envoy was sent.
		here = x.plane.sidecars().here(ref)
		sees = connected && st.InSync && here
		comes = connected || x.plane.returning.awaits(ref, time.Now())
	}
	// Asked before the lock: a stream tells of itself, and waits for the lock, while it holds its own.
	held := holdsPlain(m, ref)
	known := held && followed(ref.Mesh)
	x.mu.Lock()
	defer x.mu.Unlock()
	i := x.of[name]
	if i == nil {
		if id == nil {
			return c, false
		}
		i = &insight{}
		x.of[name] = i
	}
	if here { // what a peer has said was of an earlier stream
		i.seesThere = false
	}
	if !there {
		delete(x.of, name)
		return changeOf(i, api.Ref{}, api.DataplaneInsight{})
	}
	want := api.DataplaneInsight{OverADS: i.overADS}
	if id != nil && len(id.Names) > 0 {
		if h := i.held; h != nil && now.Before(h.Ends) && len(h.Names) > 0 {
			want.Identity = true
			if !slices.Equal(ids(h.Names), ids(id.Names)) {
				want.Shows = h.Names
			}
			switch {
			case !id.Leaves:
				i.sees = i.sees || i.told.Identity && sees || i.seesThere
			case connected && !here:
				i.sees = i.seesThere
			default: // it is called by TLS until it takes plain text
				i.sees = i.sees && comes && !sees
			}
			if want.TLS = i.sees; connected && i.sees == id.Leaves {
				x.waiting = append(x.waiting, name)
			}
		}
		if want.Refused = i.refused; !want.Identity {
			if why, ok := x.plane.noProof(); ok {
				want.Refused = why
			}
		}
		want.Skew, want.Proxyless = i.skew, connected && server.IsGRPC(client)
		if !id.Leaves {
			x.certify(name, i, id, want, now)
		}
	}
	if !want.Identity {
		i.sees = false
	}
	if want.Plain = i.resumes || i.told.Plain && held && x.holdsOn(ref, i, known); want.Plain {
		x.waiting = append(x.waiting, name)
	}
	i.resumes = false
	strict := id != nil && !want.Plain && insists(m, ref)
	x.urgent = x.urgent || strict != i.strict || want.TLS != i.told.TLS || want.Plain != i.told.Plain
	i.strict = strict
	return changeOf(i, ref, want)
}

// certify asks an agent, once in a while for each name, for a certificate that it should have and has not.
func (x *insights) certify(name api.Ref, i *insight, id *resolve.Identity, want api.DataplaneInsight, now time.Time) {
	if want.Identity && want.Shows == nil {
		i.asked = ""
		return
	}
	if (i.asked != id.Names[0] || now.Sub(i.askedAt) > sweepEvery/2) && x.plane.certifyNow(name) {
		i.asked, i.askedAt = id.Names[0], now
	}
}

// changeOf makes want what is told of a dataplane.
func changeOf(i *insight, ref api.Ref, want api.DataplaneInsight) (c api.Change, ok bool) {
	told := i.told
	same := told.Identity == want.Identity && told.TLS == want.TLS && told.Plain == want.Plain && told.OverADS == want.OverADS && told.Refused == want.Refused &&
		told.Skew == want.Skew && told.Proxyless == want.Proxyless && slices.Equal(told.Shows, want.Shows)
	if same && (i.at == ref || i.at == (api.Ref{})) {
		return c, false
	}
	if i.at != (api.Ref{}) {
		c.Before = &api.Object{Ref: api.InsightRef(i.at), Spec: &told}
	}
	i.at, i.told = ref, want
	if ref == (api.Ref{}) {
		return c, c.Before != nil
	}
	c.After = &api.Object{Ref: api.InsightRef(ref), Spec: &want}
	return c, true
}
