package control

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/reconcile"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/attached"
)

// attach puts together what serves the agents of sidecars beside ADS.
func (p *Plane) attach(o attached.Options) {
	o.Logger = p.log
	o.Ready = func() bool { _, ok := p.ads.Revision(); return ok }
	o.Known = func(ref api.Ref) bool {
		m := p.loop.Current()
		return m != nil && reconcile.Serves(m)(ref)
	}
	o.Names = p.names
	o.Connected, o.Certified = p.insights.connected, p.insights.certified
	o.Stirred = both(o.Stirred, func(dp api.Ref) { p.insights.stir(dp) })
	p.agents = attached.New(o)
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
	return p.lists.of(m, ref)
}

// publish hands a revision to all streams.
func (p *Plane) publish(m *resolve.Model, affected resolve.Affected) {
	p.ads.Publish(m, affected)
	p.agents.Publish(affected.Dataplanes)
	p.tellPeers(m, affected)
	p.insights.stir(affected.Dataplanes...)
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
