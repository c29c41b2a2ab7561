package xds

import (
	"cmp"
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tlsinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/tls_inspector/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// secretWait is how long a listener waits for a certificate before it serves the others:
// it is asked for when the listener is there, so that all of them wait for it.
const secretWait = 5 * time.Second

// ChainRoutes is the name of the route configuration of those who ask for a name at a
// port where clients speak TLS.
func ChainRoutes(port uint32, name string) string {
	return EdgeName(port) + ":" + cmp.Or(name, api.AnyHost)
}

// sameChains reports whether listeners with the chains are one.
func sameChains(a, b []*effective.Chain) bool {
	return slices.EqualFunc(a, b, func(a, b *effective.Chain) bool {
		return a.Connections == b.Connections && a.To == b.To && a.Name == b.Name && a.Minimum == b.Minimum && a.Maximum == b.Maximum && slices.Equal(a.Secrets, b.Secrets) && slices.Equal(chainPolicies(a), chainPolicies(b))
	})
}

// chainPolicies are those of the hosts of a chain as a whole.
func chainPolicies(c *effective.Chain) effective.Policies {
	if c.To != nil {
		return c.To.Policies
	}
	if len(c.Hosts) == 0 {
		return nil
	}
	return c.Hosts[0].Policies
}

// renderSecure renders where an edge dataplane listens for clients that speak TLS: a chain
// of filters for each name that they may ask for there.
func (x *Renderer) renderSecure(r *effective.Resolved, e *effective.Edge, ps effective.Policies, chains []*effective.Chain) *ownEdge {
	own := &ownEdge{ps: ps, chains: chains}
	out := &listenerv3.Listener{Name: edgeListenerName(e), TrafficDirection: corev3.TrafficDirection_INBOUND, Address: socket(e.Address, e.Port)}
	out.ListenerFilters = readServerNames()
	all := []*api.Origin{{Ref: r.Ref}}
	var origins []*api.Origin
	var names, clusters []string
	var wrong error
	for _, c := range own.chains {
		name := ChainRoutes(e.Port, c.Name)
		in := x.common(edgeChain(e, c, name))
		wrong, clusters = cmp.Or(wrong, in.err), append(clusters, in.split.clusters()...)
		fc := &listenerv3.FilterChain{Name: name, Filters: in.filters, TransportSocket: showing(c)}
		if c.Name != "" {
			fc.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{c.Name}}
		}
		out.FilterChains, origins = append(out.FilterChains, fc), append(origins, in.origins...)
		if in.routes != "" {
			names = append(names, name)
		}
		if c.To != nil {
			own.notes = append(own.notes, tcpNotes(c.To.TCP)...)
		}
	}
	if len(own.chains) == 0 {
		return own
	}
	out.Metadata = cmp.Or(named(origins), &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}})
	out.Metadata.FilterMetadata[tagsMetadata] = &structpb.Struct{Fields: map[string]*structpb.Value{"tags": structpb.NewStructValue(textStruct(nil))}}
	if err := cmp.Or(wrong, checkListener(out, e.Address)); err != nil {
		own.notes = refused(append(all, origins...), "nobody listens at "+joined(e.Address, e.Port), err)
		return own
	}
	own.listener = newResource(out.Name, out)
	slices.Sort(names)
	slices.Sort(clusters)
	own.listener.Routes, own.listener.Clusters = names, slices.Compact(clusters)
	return own
}

// edgeChain is what a listener does with connections of those who ask for the names of c.
func edgeChain(e *effective.Edge, c *effective.Chain, name string) chain {
	if !c.Connections {
		return chain{place: Place{Protocol: api.HTTP}, stat: name, routes: name, hosts: true, ps: chainPolicies(c), edge: e}
	}
	out := chain{place: Place{Protocol: api.TCP}, stat: name, ps: chainPolicies(c), edge: e}
	if c.To != nil {
		out.split, out.by = divide(c.To.TCP.Backends), c.To.TCP.BackendsBy
	}
	return out
}

// readServerNames makes a listener look for the name that a client asks for in TLS before
// it chooses a chain.
func readServerNames() []*listenerv3.ListenerFilter {
	return []*listenerv3.ListenerFilter{{
		Name: "envoy.filters.listener.tls_inspector", ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: Pack(&tlsinspectorv3.TlsInspector{})},
	}}
}

// showing is how a listener speaks TLS to those who ask for the names of a chain; nil where
// it passes it on.
func showing(c *effective.Chain) *corev3.TransportSocket {
	if len(c.Secrets) == 0 {
		return nil
	}
	versions := &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2, TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3}
	if c.Minimum == "1.3" {
		versions.TlsMinimumProtocolVersion = tlsv3.TlsParameters_TLSv1_3
	}
	if c.Maximum == "1.2" {
		versions.TlsMaximumProtocolVersion = tlsv3.TlsParameters_TLSv1_2
	}
	common := &tlsv3.CommonTlsContext{TlsParams: versions, AlpnProtocols: []string{"h2", "http/1.1"}}
	if c.Connections { // what they carry is between client and backend
		common.AlpnProtocols = nil
	}
	for _, ref := range c.Secrets {
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{Name: index.SecretName(ref), SdsConfig: overADS(secretWait)})
	}
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Pack(&tlsv3.DownstreamTlsContext{CommonTlsContext: common})},
	}
}

// secure adds a listener for clients that speak TLS, and the hosts of each of its chains.
func (s *State) secure(r *effective.Resolved, e effective.EdgeUse, own *ownEdge, chains []*effective.Chain) {
	if own.listener == nil {
		s.Notes = append(s.Notes, own.notes...)
		return
	}
	s.listen(r, own.listener, listening{e.Address, e.Port}, own.notes)
	for _, c := range chains {
		if c.Connections {
			continue
		}
		name, other := ChainRoutes(e.Port, c.Name), besides(c)
		if len(c.Hosts) == 0 {
			s.add(&s.Routes, newHostsResource(name, nil, other), nil)
			continue
		}
		s.add(&s.Routes, renderHosts(name, c.Hosts, other), nil)
	}
}

// beside is what clients who speak TLS may ask a chain for, and no route of it says.
type beside struct {
	misdirected []string // hosts of other chains
	unrouted    string   // the chain's own name, though a wider chain has it too
}

func besides(c *effective.Chain) beside {
	var out beside
	switch {
	case !c.Own:
		out.misdirected = c.Others
	case !serves(c, api.AnyHost):
		out.misdirected = []string{api.AnyHost}
	}
	if len(c.Others) > 0 && c.Name != "" && !serves(c, c.Name) {
		out.unrouted = c.Name
	}
	return out
}

func (b beside) equal(o beside) bool {
	return b.unrouted == o.unrouted && slices.Equal(b.misdirected, o.misdirected)
}

// hosts answer 421 to who is misdirected, and 404 for the rest.
func (b beside) hosts() []*routev3.VirtualHost {
	var out []*routev3.VirtualHost
	if len(b.misdirected) > 0 {
		out = append(out, misdirected(b.misdirected))
	}
	if b.unrouted != "" {
		out = append(out, &routev3.VirtualHost{Name: b.unrouted, Domains: []string{b.unrouted}})
	}
	return out
}

// serves reports whether routes of a chain are for a host by that name.
func serves(c *effective.Chain, name string) bool {
	return slices.ContainsFunc(c.Hosts, func(o *effective.Outbound) bool { return o.Destination.Name == name })
}

// misdirected answers requests for hosts whose certificate the client has not seen: it is
// to make another connection (RFC 9110, 15.5.20).
func misdirected(domains []string) *routev3.VirtualHost {
	return &routev3.VirtualHost{Name: "misdirected", Domains: domains, Routes: []*routev3.Route{{
		Name:   "misdirected",
		Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 421}},
	}}}
}

// renderSecret renders a certificate, once for as long as it lasts.
func renderSecret(u effective.SecretUse) *Resource {
	return u.Kept.Do(func() any {
		return newResource(u.Name, &tlsv3.Secret{Name: u.Name, Type: &tlsv3.Secret_TlsCertificate{
			TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: bootstrap.Inline(u.Chain), PrivateKey: bootstrap.Inline(u.Key)},
		}})
	}).(*Resource)
}
