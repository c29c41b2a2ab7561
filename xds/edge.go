package xds

import (
	"slices"
	"strconv"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// EdgeName is the name of the route configuration of all hosts that edge dataplanes
// serve at a port.
func EdgeName(port uint32) string { return "edge:" + strconv.FormatUint(uint64(port), 10) }

// ownEdge is everything that one port of an edge dataplane needs but for its hosts.
type ownEdge struct {
	ps       effective.Policies
	chains   []*effective.Chain  // where clients speak TLS
	to       *effective.Outbound // where whole connections go
	listener *Resource           // nil where nobody is let in
	nobody   *Resource           // the route configuration where there is no host
	notes    []api.Note
}

// edge renders where an edge dataplane listens, once for as long as e and what is said
// about the listener last.
func (x *Renderer) edge(r *effective.Resolved, e effective.EdgeUse, hosts []*effective.Outbound, chains []*effective.Chain) *ownEdge {
	var ps effective.Policies
	var to *effective.Outbound
	if len(hosts) > 0 {
		ps = hosts[0].Policies
	}
	if e.Connections && len(hosts) > 0 {
		to = hosts[0]
	}
	render := func() any { return x.renderEdge(r, e.Edge, ps, chains, to) }
	own := e.Kept.Do(render).(*ownEdge)
	if !slices.Equal(own.ps, ps) || !sameChains(own.chains, chains) || own.to != to {
		return render().(*ownEdge)
	}
	return own
}

// edgeListenerName is that of the listener of an edge; EdgeName is that of the routes of its port.
func edgeListenerName(e *effective.Edge) string { return "edge:" + joined(e.Address, e.Port) }

func (x *Renderer) renderEdge(r *effective.Resolved, e *effective.Edge, ps effective.Policies, chains []*effective.Chain, to *effective.Outbound) *ownEdge {
	switch {
	case len(e.TLS) > 0:
		return x.renderSecure(r, e, ps, chains)
	case e.Connections:
		return x.renderBytes(r, e, ps, to)
	}
	name := EdgeName(e.Port)
	own := &ownEdge{ps: ps, nobody: newResource(name, routeConfiguration(name))}
	c := chain{place: Place{Protocol: api.HTTP}, stat: name, routes: name, hosts: true, ps: ps, edge: e}
	listener := &listenerv3.Listener{Name: edgeListenerName(e), TrafficDirection: corev3.TrafficDirection_INBOUND}
	own.listener, own.notes = x.listener(listener, e.Address, e.Port, x.common(c), ownerOf(r), nil)
	return own
}

// renderBytes renders where an edge dataplane sends whole connections on; without to it
// closes them.
func (x *Renderer) renderBytes(r *effective.Resolved, e *effective.Edge, ps effective.Policies, to *effective.Outbound) *ownEdge {
	own := &ownEdge{ps: ps, to: to}
	c := edgeChain(e, &effective.Chain{Connections: true, To: to}, EdgeName(e.Port))
	listener := &listenerv3.Listener{Name: edgeListenerName(e), TrafficDirection: corev3.TrafficDirection_INBOUND}
	own.listener, own.notes = x.listener(listener, e.Address, e.Port, x.common(c), ownerOf(r), nil)
	if to != nil {
		own.notes = append(own.notes, tcpNotes(to.TCP)...)
	}
	return own
}

// edges adds the listeners of an edge dataplane, and the hosts behind them.
func (s *State) edges(x *Renderer, r *effective.Resolved) {
	for _, e := range r.Edges {
		hosts := r.Hosts(e.Edge)
		chains := r.Chains(e.Edge)
		own := x.edge(r, e, hosts, chains)
		if len(e.TLS) > 0 {
			s.secure(r, e, own, chains)
			continue
		}
		s.listen(r, own.listener, listening{e.Address, e.Port}, own.notes)
		if e.Connections {
			continue
		}
		routes := own.nobody
		if len(hosts) > 0 {
			routes = renderHosts(EdgeName(e.Port), hosts, beside{})
		}
		s.add(&s.Routes, routes, nil)
	}
}

// outside makes m one for clients that nobody knows (spec/kuma.md 1.4): who they are is
// seen from their connection and the proxies that are trusted, none of them is internal,
// and they cannot write one path or host in several ways. Idle connections cost something
// here, so that Envoy's own bounds hold where nobody says more.
func outside(m *hcmv3.HttpConnectionManager, e *effective.Edge) {
	m.UseRemoteAddress, m.XffNumTrustedHops = wrapperspb.Bool(true), e.TrustedHops
	m.InternalAddressConfig = &hcmv3.HttpConnectionManager_InternalAddressConfig{CidrRanges: []*corev3.CidrRange{
		{AddressPrefix: anyIPv4, PrefixLen: wrapperspb.UInt32(32)}, // which is nobody's: without any range private ones are internal
	}}
	m.MergeSlashes, m.StripTrailingHostDot = true, true
	m.StreamIdleTimeout, m.CommonHttpProtocolOptions = nil, nil
}
