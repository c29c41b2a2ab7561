package control

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/attached"
)

// attach puts together what serves the agents of sidecars beside ADS.
func (p *Plane) attach(o attached.Options) {
	o.Logger = p.log
	o.Ready = func() bool { _, ok := p.ads.Revision(); return ok }
	o.Known = func(ref api.Ref) bool {
		m := p.loop.current.Load()
		return m != nil && serves(m)(ref)
	}
	o.Names = p.names
	p.agents = attached.New(o)
}

// serves reports which dataplanes a model has.
func serves(m *resolve.Model) func(api.Ref) bool {
	return func(ref api.Ref) bool {
		_, ok := m.Dataplane(ref)
		return ok
	}
}

// names are those that only the mesh knows, for a dataplane as its sidecar calls it.
func (p *Plane) names(ref api.Ref) *attach.Names {
	m := p.loop.current.Load()
	if m == nil {
		return nil
	}
	r, ok := m.Dataplane(ref.Resolve(serves(m)))
	if !ok {
		return nil
	}
	out, sum := &attach.Names{}, sha256.New()
	for _, h := range r.Hostnames() {
		out.Names = append(out.Names, &attach.Name{Name: h.Name, Addresses: h.Addresses})
		fmt.Fprintln(sum, h.Name, h.Addresses)
	}
	out.Version = hex.EncodeToString(sum.Sum(nil)[:16])
	return out
}

// publish hands a revision to all streams.
func (p *Plane) publish(m *resolve.Model, affected resolve.Affected) {
	p.ads.Publish(m, affected)
	p.agents.Publish(affected.Dataplanes)
}

// envoys answers what users ask of Envoys, through the agents of their sidecars.
type envoys struct{ *Plane }

// Ask writes the answer of the Envoy of a dataplane.
func (e envoys) Ask(ctx context.Context, dp api.Ref, path string, w io.Writer) error {
	return e.agents.Ask(ctx, dp, path, w)
}

// Sent is what ADS sent to it, as Envoy would say it; false where it has no stream.
func (e envoys) Sent(dp api.Ref) ([]byte, bool, error) { return e.ads.Sent(dp) }
