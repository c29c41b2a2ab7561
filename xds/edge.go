package xds

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
)

// ownEdge is everything that one port of an edge dataplane needs but for its hosts.
type ownEdge struct {
	ps       effective.Policies
	parts    listeners.RoutedConfs
	chains   []*effective.FilterChain // where clients speak TLS
	to       *effective.Outbound      // where whole connections go
	listener *resource.Resource       // nil where nobody is let in
	nobody   *resource.Resource       // the route configuration where there is no host
	reports  bool                     // its agent takes what is written of requests
	notes    []api.Note
	service  string // the dataplane's own
}

// edge renders where an edge dataplane listens, once for as long as e and what is said
// about the listener last.
func (x *Renderer) edge(r *effective.Resolved, e effective.EdgeUse, hosts []*effective.Outbound, chains []*effective.FilterChain) *ownEdge {
	var ps effective.Policies
	var to *effective.Outbound
	if len(hosts) > 0 {
		ps = hosts[0].Policies
	}
	if e.Connections && len(hosts) > 0 {
		to = hosts[0]
	}
	parts := listeners.RoutedConfsOf(hosts...)
	render := func() any {
		own := &ownEdge{ps: ps, parts: parts, chains: chains, to: to, reports: x.listeners.Reports(), service: listeners.OwnerOf(r).Service}
		own.listener, own.notes = x.listeners.Edge(r, e.Edge, ps, parts, chains, to)
		if len(e.TLS) == 0 && !e.Connections {
			own.nobody = routes.NoHosts(naming.Edge(e.Port))
		}
		return own
	}
	own := e.Cache.Do(render).(*ownEdge)
	if !slices.Equal(own.ps, ps) || !slices.Equal(own.parts, parts) || !sameChains(own.chains, chains) || own.to != to || own.reports != x.listeners.Reports() || own.service != listeners.OwnerOf(r).Service {
		return render().(*ownEdge)
	}
	return own
}

// sameChains reports whether listeners with the chains are one.
func sameChains(a, b []*effective.FilterChain) bool {
	return slices.EqualFunc(a, b, func(a, b *effective.FilterChain) bool {
		return a.Connections == b.Connections && a.To == b.To && a.Name == b.Name && a.Minimum == b.Minimum && a.Maximum == b.Maximum && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(listeners.ChainPolicies(a), listeners.ChainPolicies(b))
	})
}

// edges adds the listeners of an edge dataplane, and the hosts behind them.
func (s *rendering) edges(x *Renderer, r *effective.Resolved) {
	for _, e := range r.Edges {
		hosts := r.Hosts(e.Edge)
		chains := r.Chains(e.Edge)
		own := x.edge(r, e, hosts, chains)
		if len(e.TLS) > 0 {
			s.edgeTLS(r, e, own, chains)
			continue
		}
		s.listen(r, own.listener, envoy.HostPort{Host: e.Address, Port: e.Port}, own.notes)
		if e.Connections {
			continue
		}
		config := own.nobody
		if len(hosts) > 0 {
			config = routes.RenderHosts(naming.Edge(e.Port), hosts, routes.Misdirected{})
		}
		s.Add(&s.Routes, config, nil)
	}
}

// edgeTLS adds a listener for clients that speak TLS, and the hosts of each of its chains.
func (s *rendering) edgeTLS(r *effective.Resolved, e effective.EdgeUse, own *ownEdge, chains []*effective.FilterChain) {
	if own.listener == nil {
		s.Notes = append(s.Notes, own.notes...)
		return
	}
	s.listen(r, own.listener, envoy.HostPort{Host: e.Address, Port: e.Port}, own.notes)
	for _, c := range chains {
		if !c.Connections {
			s.Add(&s.Routes, routes.RenderHosts(naming.ChainRoutes(e.Port, c.Name), c.Hosts, routes.MisdirectedOf(c)), nil)
		}
	}
}
