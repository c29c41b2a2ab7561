package control

import (
	"context"
	"log/slog"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/store"
)

// Beneath puts a store in the place of the one that users write to.
func (p *Plane) Beneath(wrap func(store.Store) store.Store) { p.store = wrap(p.store) }

// Ready is what /readyz asks.
func (p *Plane) Ready() error { return p.ready() }

// Write runs writers as the leader does, until ctx ends.
func Write(ctx context.Context, log *slog.Logger, writers map[string]func(context.Context) error) {
	p := &Plane{log: log}
	for name, run := range writers {
		p.lead(name, run)
	}
	p.write(ctx)
}

// TellAuthorities tells the sidecars whom to trust.
func (p *Plane) TellAuthorities(pem []byte) { p.agents.Authorities(pem) }

// Snapshot is what the store holds.
func (p *Plane) Snapshot() *api.Snapshot { return p.store.Snapshot() }

// Published is the newest revision that went to the streams; false before the first one.
func (p *Plane) Published() (uint64, bool) { return p.ads.Revision() }

// Authority is what those who ask this replica of a cluster must trust, in PEM, and is closed when
// it is another.
func (p *Plane) Authority() ([]byte, <-chan struct{}) { return p.roots.PEM() }

// Reported reports whether the model knows that the agent of a dataplane has a certificate.
func (p *Plane) Reported(name string) bool {
	p.insights.mu.Lock()
	defer p.insights.mu.Unlock()
	i := p.insights.of[api.Ref{Kind: api.KindDataplane, Mesh: api.DefaultMesh, Name: name}]
	return i != nil && i.told.Identity && i.told.TLS
}

// Phase is where the rotation of the authority of mesh default stands, and whose root signs.
func (p *Plane) Phase() (phase, signs string) {
	s, _, _ := p.keeper.State(api.Ref{Kind: api.KindMesh, Name: api.DefaultMesh})
	return string(s.Phase), s.Signer()
}
