package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
)

// plainHTTP is the port at which a mesh calls hosts, and edge dataplanes serve at
// every port of theirs (spec/httpproxy.md 1, spec/routegroup.md 4).
const plainHTTP = 80

// Edge is where an edge dataplane listens for clients from outside the mesh. The
// outbounds at its address, which have the same port and Edge set, are the hosts that
// it serves; of others there are none.
type Edge struct {
	Address     string
	Port        uint32
	TrustedHops uint32 // proxies before it whose x-forwarded-for holds
}

// EdgeUse is an Edge, and what stands beside it.
type EdgeUse struct {
	*Edge
	Kept *Memo
}

// Hosts are the outbounds of r to the hosts that e serves.
func (r *Resolved) Hosts(e *Edge) []*Outbound {
	var out []*Outbound
	for _, o := range r.Outbounds {
		if o.Edge && o.Port == e.Port {
			out = append(out, o)
		}
	}
	return out
}

// edgesOf are the ports of an edge dataplane, whatever hosts there are.
func edgesOf(p *dataplane) []EdgeUse {
	net := p.spec.Networking
	if !net.Edge() {
		return nil
	}
	var out []EdgeUse
	for _, l := range net.Gateway.Listeners {
		if !slices.ContainsFunc(out, func(e EdgeUse) bool { return e.Port == l.Port }) {
			x := &edgeKept{Edge: Edge{Address: net.Address, Port: l.Port, TrustedHops: net.Gateway.TrustedHops}}
			out = append(out, EdgeUse{&x.Edge, &x.kept})
		}
	}
	slices.SortFunc(out, func(a, b EdgeUse) int { return cmp.Compare(a.Port, b.Port) })
	return out
}

// edgeCalls adds those to the hosts that the listeners of an edge dataplane cover.
func (m mesh) edgeCalls(net *api.Networking, add func(call)) {
	if !net.Edge() {
		return
	}
	served := map[call]bool{}
	for i := range net.Gateway.Listeners {
		l := &net.Gateway.Listeners[i]
		for d := range m.destsNamed(hostsAt(plainHTTP)) {
			c := call{address: net.Address, port: l.Port, index: -1, dest: d, edge: true}
			if l.Covers(d.Name) && !served[c] {
				served[c] = true
				add(c)
			}
		}
	}
}
