package dataplanes

import (
	"cmp"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// resolve is everything that applies to one dataplane, of which nothing is made that
// was there before, nil for none. Of what failed it says why.
func (m Mesh) resolve(p *index.Dataplane, key string, before *effective.Resolved) *effective.Resolved {
	out := &effective.Resolved{Ref: p.Object.Ref, Dataplane: p.Object, Quiet: !m.Telemetry().Counts()}
	l, failed := m.Outbounds.Get(m.At, key)
	if l != nil {
		out.Outbounds, failed = l.list, cmp.Or(failed, l.failed)
	}
	h, f := m.clustersOf.Get(m.At, key)
	if failed = cmp.Or(failed, f); h != nil {
		out.Clusters = h.list
	}
	in, f := m.Inbounds.Get(m.At, key)
	if failed = cmp.Or(failed, f); in != nil {
		out.Inbounds, out.Edges, out.Whole = in.List, in.edges, in.whole
	}
	if len(out.Edges) > 0 {
		out.Secrets = m.secretsOf(out)
	}
	if m.HasIdentities() {
		failed = cmp.Or(failed, m.identify(out, key))
	}
	if failed != nil {
		out.Failed = failed.Cause
	}
	if before != nil && out.Is(before) {
		return before
	}
	out.Noted = &effective.Derived{}
	return out
}
