package control

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/control/traffic"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/attached"
	"github.com/weftmesh/weft/xds/server/authn"
)

// composeStreams makes what sidecars and their agents connect to.
func (p *Plane) composeStreams(auth authn.Authenticator) {
	options := server.Default()
	options.Drain = p.cfg.ListenerDrain
	renderer := p.settings.Renderer()
	options.Logger, options.Authenticator, options.Observer = p.log, auth, p.observe
	options.Renderer, options.RendererFor = renderer, server.ByFeatures(renderer.For)
	options.Refused = p.refused.Refused
	if p.shared != nil {
		options.Hold = p.insights.AwaitAgent
	}
	p.ads = server.New(options)
	p.loop = reconcile.New(p.log, p.observe, p.publish)
	p.loop.Grace = p.insights.GracePermissive
	agents := attached.Default()
	agents.Authenticator, agents.Refused = auth, p.refused.Refused
	if p.peers != nil {
		agents.SidecarChanged = p.peers.SidecarChanged
	}
	p.observe.Hooks.Changed = func(dp api.Ref) {
		if p.peers != nil {
			p.peers.SidecarChanged(dp)
		}
		p.insights.Enqueue(dp)
		p.fleet.Mark(dp)
	}
	p.attach(agents)
}

// attach puts together what serves the agents of sidecars beside ADS.
func (p *Plane) attach(o attached.Options) {
	o.Logger = p.log
	o.Ready = func() bool { _, ok := p.ads.Revision(); return ok }
	o.Known = func(ref api.Ref) bool {
		m := p.loop.Current()
		return m != nil && reconcile.Serves(m)(ref)
	}
	o.Names, o.Metrics = p.names, p.metricsOf
	o.Connected, o.Certified = p.insights.Connected, p.insights.Shown
	p.traffic = traffic.New(p.dataplane, time.Now, cmp.Or(p.cfg.ReportEvery, traffic.Often), func(every time.Duration) { p.agents.ReportEvery(every) })
	if p.cfg.TrafficMetrics {
		p.traffic.KeepTotals()
	}
	o.Traffic = p.traffic.Stream
	o.Counts = func(ref api.Ref) bool {
		r, ok := p.dataplane(ref)
		return !ok || !r.Quiet
	}
	o.SidecarChanged = both(o.SidecarChanged, func(dp api.Ref) { p.insights.Enqueue(dp) })
	p.agents = attached.New(o)
	if p.cfg.ReportEvery > 0 {
		p.agents.ReportEvery(p.cfg.ReportEvery)
	}
}

// dataplane is what applies to one, by the name that its sidecar has for it.
func (p *Plane) dataplane(name api.Ref) (*effective.Resolved, bool) {
	m := p.loop.Current()
	if m == nil {
		return nil, false
	}
	return m.Dataplane(name.Resolve(reconcile.Serves(m)))
}

// names are those that only the mesh knows, for a dataplane as its sidecar calls it. Those
// who may call the same share one list.
func (p *Plane) names(ref api.Ref) *attach.Names {
	m := p.loop.Current()
	if m == nil {
		return nil
	}
	ref = ref.Resolve(reconcile.Serves(m))
	if !reconcile.Serves(m)(ref) {
		return nil
	}
	return p.lists.Of(m, ref)
}

// metricsOf is what the agent of a dataplane is to tell of what is counted.
func (p *Plane) metricsOf(ref api.Ref) *attach.Metrics {
	r, ok := p.dataplane(ref)
	if !ok {
		return nil
	}
	return connections.MetricsFor(r)
}

// publish hands a revision to all streams.
func (p *Plane) publish(m *resolve.Model, affected resolve.Affected) {
	p.ads.Publish(m, affected)
	p.agents.Publish(affected.Dataplanes)
	p.tellPeers(m, affected)
	p.insights.Enqueue(affected.Dataplanes...)
}

// both does one after the other.
func both(first, second func(api.Ref)) func(api.Ref) {
	return func(ref api.Ref) { first(ref); second(ref) }
}

// envoys answers what users ask of Envoys, through the agents of their sidecars, wherever
// those are connected.
type envoys struct{ *Plane }

// Ask writes the answer of the Envoy of a dataplane.
func (e envoys) Ask(ctx context.Context, dp api.Ref, path string, w io.Writer) error {
	if _, here := e.agents.Stream(dp); !here && e.peers != nil {
		if passed, err := e.peers.Pass(ctx, dp, path, w); passed {
			return err
		}
	}
	return e.agents.Ask(ctx, dp, path, w)
}

// Sent is what ADS sent to it, as Envoy would say it; false where it has no stream.
func (e envoys) Sent(ctx context.Context, dp api.Ref) ([]byte, bool, error) {
	sent, ok, err := e.ads.Sent(dp)
	if ok || err != nil || e.peers == nil {
		return sent, ok, err
	}
	var there bytes.Buffer
	passed, err := e.peers.Pass(ctx, dp, "", &there)
	if errors.Is(err, attach.ErrNoStream) { // it went a moment ago
		return nil, false, nil
	}
	return there.Bytes(), passed, err
}

// Resolving is beside how many dataplanes of a mesh its names resolve.
func (e envoys) Resolving(mesh string) int {
	n := e.agents.Resolving(mesh)
	if e.peers != nil {
		n += e.peers.Resolving(mesh)
	}
	return n
}

// secures reports whether a mesh says anything of identities.
func (p *Plane) secures(mesh string) bool {
	m := p.loop.Current()
	return m != nil && m.Reader(nil).Identities(mesh)
}

// sidecars are those of this control plane and of its peers.
func (p *Plane) sidecars() connections.Sidecars {
	return connections.NewSidecars(p.ads, p.loop, p.returning, p.peers, p.lastGood)
}

// straggling is how long a stream may take from its token to its first request.
const straggling = 30 * time.Second

// dismiss ends the streams of a pod that is gone, and those that were about to open.
func (p *Plane) dismiss(dp api.Ref, token string) {
	end := func() { p.revokeOf(dp, func(opened string) bool { return opened == token }) }
	end()
	time.AfterFunc(straggling, end)
}

// revokeOf ends those streams of a dataplane that were opened with a token of which which says
// so.
func (p *Plane) revokeOf(dp api.Ref, which func(token string) bool) {
	p.ads.RevokeOf(dp, which)
	p.agents.RevokeOf(dp, which)
}

// receive ends the streams that somebody else has opened in the name of a pod while that was
// not there.
func (p *Plane) receive(dp api.Ref, token string) {
	if p.cfg.DataplaneAuth != "none" { // else no stream has a token
		p.revokeOf(dp, func(opened string) bool { return opened != token })
	}
}

// isPod reports whether a dataplane is that of a pod of the cluster.
func (p *Plane) isPod(dp api.Ref) bool {
	if p.backend.Users == nil {
		return false // nobody reviews the tokens of its pods
	}
	if p.backend.Users.IsPod(dp) {
		return true
	}
	m := p.loop.Current()
	if m == nil {
		return false
	}
	o, ok := m.Snapshot().Get(dp.Resolve(reconcile.Serves(m)))
	return ok && o.From != nil
}

// joinPeers makes this replica one of its peers, if it has a token for them.
func (p *Plane) joinPeers() {
	if p.peers == nil {
		return
	}
	c := p.backend.Peers
	c.ADS, c.Agents, c.Events, c.Log = p.ads, p.agents, p.observe.Events, p.log
	c.Authenticator = connections.NoteProven(c.Authenticator)
	c.NameOf = func(ref api.Ref) api.Ref {
		if m := p.loop.Current(); m != nil {
			return ref.Resolve(reconcile.Serves(m))
		}
		return ref
	}
	c.Settled = p.fleet.MarkAll
	c.Changed = func() {
		p.observe.SidecarChangedElsewhere()
		p.fleet.MarkAll()
	}
	c.Dial, c.SidecarTLS, c.OnSidecar, c.Learns, c.Do = p.cfg.DialPeer, p.insights.PeerState, p.insights.HearPeer, p.insights.PeerLearned, p.caAdmin().LeaderRequest
	c.Sums = p.traffic.Sums
	p.peers.Begin(c)
}

// tellPeers says what holds now.
func (p *Plane) tellPeers(m *resolve.Model, affected resolve.Affected) {
	if p.peers != nil {
		p.peers.Published(m, m.Snapshot().Revision(), affected.Dataplanes)
		p.fleet.MarkAll() // whose sidecars follow elsewhere may be said of others too
	}
}

// unknown says what is not known now: documents of an API server that is away, and sidecars
// of replicas that do not answer.
func (p *Plane) unknown() (notes []api.Note) {
	if stale := p.backend.Stale().Truncate(time.Second); stale > 0 {
		notes = append(notes, api.Note{Severity: api.Warning, Code: "StaleDocuments",
			Message: fmt.Sprintf("the %s has not been followed for %v; documents are as they were then", p.backend.Name, stale)})
	}
	if p.peers != nil {
		notes = append(append(notes, p.peers.Silent()...), p.peers.Differing()...)
	}
	return append(notes, p.degraded()...)
}
