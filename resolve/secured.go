package resolve

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// withPeers says of a mesh with identities which of x are called in plain text, and who all of
// them are: those too that are not ready yet, so that a name is expected before it is shown. Nobody
// is led to one whose identity is revoked, in whatever mode, and its names are expected no more: the
// certificate that it has would be believed until it ends.
func (m servicesMesh) withPeers(x *members) *members {
	waiting, planes := x.waiting, x.planes
	x.waiting, x.planes = nil, nil
	if !m.HasIdentities() {
		return x
	}
	names := map[string]bool{}
	add := func(s *identity.DataplaneTLS) {
		if s == nil || s.Revoked != "" {
			return
		}
		for _, name := range slices.Concat(s.Names, s.Shows) {
			if _, err := spiffe.Parse(name); err == nil {
				names[name] = true
			}
		}
	}
	kept := x.list[:0]
	for i, e := range x.list {
		e.Plain = true
		if e.Dataplane == (api.Ref{}) {
			kept = append(kept, e)
			continue
		}
		var p *index.Dataplane
		if i < len(planes) && planes[i].Object.Ref == e.Dataplane {
			p = planes[i]
		} else if p, _ = m.Dataplanes.Get(m.At, index.ObjectKey(e.Dataplane)); p == nil {
			kept = append(kept, e)
			continue
		}
		s := m.TLSOf(e.Dataplane)
		if s != nil && s.Revoked != "" {
			x.left = append(x.left, effective.LeftOut{Dataplane: e.Dataplane, Why: "whose identity " + s.Revoked + " is revoked"})
			continue
		}
		e.Plain = s.CalledPlain(p, e.Address, e.Port)
		add(s)
		kept = append(kept, e)
	}
	x.list = kept
	for _, w := range waiting {
		add(m.TLSOf(w.plane.Object.Ref))
	}
	if len(names) == 0 {
		return x
	}
	x.peers = &identity.Peers{Names: slices.Sorted(maps.Keys(names))}
	domains := map[string]bool{}
	for _, name := range x.peers.Names {
		id, _ := spiffe.Parse(name)
		domains[id.Domain] = true
	}
	x.peers.Domains = slices.Sorted(maps.Keys(domains))
	return x
}
