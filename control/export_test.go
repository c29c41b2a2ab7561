package control

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/leader"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/kuma/insights"
	"github.com/weftmesh/weft/store"
)

// Beneath puts a store in the place of the one that users write to.
func (p *Plane) Beneath(wrap func(store.Store) store.Store) { p.store = wrap(p.store) }

// Ready is what /readyz asks.
func (p *Plane) Ready() error { return p.ready() }

// Write runs writers as the leader does, until ctx ends.
func Write(ctx context.Context, log *slog.Logger, writers map[string]func(context.Context) error) {
	all := leader.NewWriters(log)
	for name, run := range writers {
		all.Add(name, run)
	}
	all.Run(ctx)
}

// TellAuthorities tells the sidecars whom to trust.
func (p *Plane) TellAuthorities(pem []byte) { p.agents.Authorities(pem) }

// Snapshot is what the store holds.
func (p *Plane) Snapshot() *snapshot.Snapshot { return p.store.Snapshot() }

// Published is the newest revision that went to the streams; false before the first one.
func (p *Plane) Published() (uint64, bool) { return p.ads.Revision() }

// Authority is what those who ask this replica of a cluster must trust, in PEM, and is closed when
// it is another.
func (p *Plane) Authority() ([]byte, <-chan struct{}) { return p.roots.PEM() }

// Reported reports whether the model knows that the agent of a dataplane has a certificate.
func (p *Plane) Reported(name string) bool {
	told := p.insights.Told(api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: name})
	return told.Identity && told.TLS
}

// InSync reports whether a dataplane of mesh default follows all that is known, once the step that
// the loop is at is over.
func (p *Plane) InSync(name string) bool {
	defer p.loop.Pause()()
	s, _ := p.sidecars().Sidecar(api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: name})
	return s.State() == inspect.StateInSync
}

// Held is the certificate that a dataplane of mesh default has proved: its names and its end.
func (p *Plane) Held(name string) (names []string, ends time.Time) {
	s, _ := p.insights.Secured(api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: name})
	if s.Certificate == nil {
		return nil, time.Time{}
	}
	return s.Certificate.Names, s.Certificate.Expires.Local()
}

// Stir has authorities be looked at now.
func (p *Plane) Stir() { p.caController.Enqueue() }

// SweepCertificates has ends of certificates be looked for now, and not within a minute.
func (p *Plane) SweepCertificates() { p.insights.Sweep() }

// Phase is where the rotation of the authority of mesh default stands, and whose root signs.
func (p *Plane) Phase() (phase, signs string) {
	s, _, _ := p.caController.State(api.Ref{Kind: api.KindMesh, Name: api.DefaultMesh})
	return string(s.Phase), s.Signer()
}

// CensusDiffers says where what is kept of a mesh is not what is counted anew; empty where nowhere.
func (p *Plane) CensusDiffers(mesh string) string {
	q, catalog := p.loop.Current().Reader(nil), p.settings.Catalog()
	s, all := q.Snapshot(), p.sidecars().Sidecars()
	of, _ := s.Get(api.Ref{Kind: api.KindMesh, Name: mesh})
	insight, services := insights.InsightsOf(catalog, s, of, func(ref api.Ref) insights.Seen {
		x, _ := p.sidecars().Sidecar(ref)
		seen := insights.SeenOf(&x)
		seen.Root = p.insights.Root(ref)
		return seen
	})
	states := map[inspect.State]int{}
	for o := range s.Of(api.KindDataplane, mesh) {
		x, _ := p.sidecars().Sidecar(o.Ref)
		states[x.State()]++
	}
	c := p.fleet
	kept, keptServices := c.Insights(catalog, s, of)
	counts, _ := c.States(s, mesh, nil)
	return cmp.Diff([]any{inspect.SyncOf(q, mesh, all), insight, services, states, conditions.Problems(q, all, nil)},
		[]any{c.Sync(q, mesh), kept, keptServices, counts, conditions.Problems(q, c.Troubled(), nil)}, cmpopts.EquateEmpty())
}

// Looked is how many dataplanes the census has looked at.
func (p *Plane) Looked() int {
	return p.fleet.Looks()
}

// Unpublished is for how many dataplanes something is resolved and not published yet.
func (p *Plane) Unpublished() int { return len(p.loop.Unpublished()) }

// Fleet counts dataplanes of mesh default once the step that the loop is at is over: of how many a
// certificate is known, how many follow all that is known, and how often one of them was sent
// listeners.
func (p *Plane) Fleet(names []string) (certified, follow int, listeners uint64) {
	defer p.loop.Pause()()
	for _, name := range names {
		if p.Reported(name) {
			certified++
		}
		ref := api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: name}
		if s, _ := p.sidecars().Sidecar(ref); s.State() == inspect.StateInSync {
			follow++
		}
		st, _ := p.ads.Status(ref)
		listeners += st.Types["lds"].Sent
	}
	return certified, follow, listeners
}

// Sweep forgets what counts for a minute only, as if that was over.
func (p *Plane) Sweep() { p.controlPlaneKeys.Expire(time.Now().Add(time.Hour)) }

// TakesPlain is how many dataplanes still take plain text although they are to take none.
func (p *Plane) TakesPlain() (n int) {
	for _, dp := range p.insights.All() {
		if p.insights.Told(dp).Plain {
			n++
		}
	}
	return n
}
