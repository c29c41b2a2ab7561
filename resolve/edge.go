package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/reachability"
)

// EdgesOf are the edge dataplanes of which a route object says where they listen, by ref.
func (q *Reader) EdgesOf(ref api.Ref) []*api.Object {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var out []*api.Object
	if r := x.Route(ref); r != nil {
		for p := range x.EdgesNamed(r.Parsed.Edges) {
			out = append(out, p.Object)
		}
	}
	return out
}

// edgesOf are the ports of an edge dataplane, whatever hosts there are. Where listeners
// at one port differ in whether clients speak TLS there, the first that is open decides.
func (m dataplanesMesh) edgesOf(p *index.Dataplane) []effective.EdgeUse {
	net := p.Spec.Networking
	var out []effective.EdgeUse
	list := m.Listening(p)
	for i := range list {
		l := &list[i]
		if l.Closed || slices.ContainsFunc(out, func(e effective.EdgeUse) bool { return e.Port == l.Port }) {
			continue // where all are closed nobody listens
		}
		x := &edgeKept{Edge: effective.Edge{Address: net.Address, Port: l.Port, TrustedHops: net.Gateway.TrustedHops}}
		if l.TLS != nil {
			x.TLS = reachability.AtPort(list, l.Port)
		}
		x.Connections = l.Connections && l.TLS == nil
		out = append(out, effective.EdgeUse{Edge: &x.Edge, Kept: &x.kept})
	}
	slices.SortFunc(out, func(a, b effective.EdgeUse) int { return cmp.Compare(a.Port, b.Port) })
	return out
}
