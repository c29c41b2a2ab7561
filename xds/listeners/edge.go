package listeners

import (
	"cmp"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/secrets"
)

// Edge renders where an edge dataplane listens, nil where nobody is let in: ps are of the hosts
// there, chains where clients speak TLS, and to is where whole connections go; without it they are closed.
func (b *Builder) Edge(r *effective.Resolved, e *effective.Edge, ps effective.Policies, parts RoutedConfs, chains []*effective.FilterChain, to *effective.Outbound) (*resource.Resource, []api.Note) {
	if len(e.TLS) > 0 {
		return b.edgeTLS(r, e, chains)
	}
	name := naming.Edge(e.Port)
	c := chain{place: edgePlace(r, api.HTTP), stat: name, routes: name, hosts: true, ps: ps, of: parts.ofRoutes(), edge: e}
	if e.Connections {
		c = edgeChain(r, e, &effective.FilterChain{Connections: true, To: to}, name)
	}
	out := &listenerv3.Listener{Name: naming.EdgeListener(e), TrafficDirection: corev3.TrafficDirection_INBOUND}
	listener, notes := b.listener(out, e.Address, e.Port, b.common(c), OwnerOf(r), nil)
	if e.Connections && to != nil {
		notes = append(notes, backends.Notes(to.TCP)...)
	}
	return listener, notes
}

// edgeTLS renders where an edge dataplane listens for clients that speak TLS: a chain
// of filters for each name that they may ask for there.
func (b *Builder) edgeTLS(r *effective.Resolved, e *effective.Edge, chains []*effective.FilterChain) (*resource.Resource, []api.Note) {
	if len(chains) == 0 {
		return nil, nil
	}
	var notes []api.Note
	out := &listenerv3.Listener{Name: naming.EdgeListener(e), TrafficDirection: corev3.TrafficDirection_INBOUND, Address: envoy.Socket(e.Address, e.Port)}
	out.ListenerFilters = readServerNames()
	all := []*api.Origin{{Ref: r.Ref}}
	var origins []*api.Origin
	var names, clusters []string
	var beside []resource.Beside
	var wrong error
	for _, c := range chains {
		name := naming.ChainRoutes(e.Port, c.Name)
		in := b.common(edgeChain(r, e, c, name))
		wrong, clusters = cmp.Or(wrong, in.err), append(clusters, in.split.Clusters()...)
		for _, x := range in.beside {
			beside, clusters = append(beside, x), append(clusters, x.Name())
		}
		fc := &listenerv3.FilterChain{Name: name, Filters: in.filters, TransportSocket: showing(c)}
		if c.Name != "" {
			fc.FilterChainMatch = &listenerv3.FilterChainMatch{ServerNames: []string{c.Name}}
		}
		out.FilterChains, origins = append(out.FilterChains, fc), append(origins, in.origins...)
		if in.routes != "" {
			names = append(names, name)
		}
		if c.To != nil {
			notes = append(notes, backends.Notes(c.To.TCP)...)
		}
	}
	out.Metadata = cmp.Or(origin.Metadata(origins), &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{}})
	out.Metadata.FilterMetadata[tagsMetadata] = &structpb.Struct{Fields: map[string]*structpb.Value{"tags": structpb.NewStructValue(envoy.TextStruct(nil))}}
	if err := cmp.Or(wrong, checkListener(out, e.Address)); err != nil {
		return nil, origin.Refused(append(all, origins...), "nobody listens at "+naming.Address(e.Address, e.Port), err)
	}
	listener := resource.New(out.Name, out)
	slices.Sort(names)
	slices.Sort(clusters)
	listener.Routes, listener.Clusters, listener.Beside = names, slices.Compact(clusters), beside
	return listener, notes
}

// edgeChain is what a listener does with connections of those who ask for the names of c.
func edgeChain(r *effective.Resolved, e *effective.Edge, c *effective.FilterChain, name string) chain {
	if !c.Connections {
		return chain{place: edgePlace(r, api.HTTP), stat: name, routes: name, hosts: true, ps: ChainPolicies(c), of: RoutedConfsOf(c.Hosts...).ofRoutes(), edge: e}
	}
	out := chain{place: edgePlace(r, api.TCP), stat: name, ps: ChainPolicies(c), edge: e}
	if c.To != nil {
		out.split, out.by = backends.Divide(c.To.TCP.Backends), c.To.TCP.BackendsBy
	}
	return out
}

// edgePlace is where clients from outside call whatever is served there.
func edgePlace(r *effective.Resolved, p api.Protocol) envoy.Place {
	return envoy.Place{Protocol: p, Mesh: r.Ref.Mesh, Edge: true, Service: serviceOf(r)}
}

// showing is how a listener speaks TLS to those who ask for the names of a chain; nil where
// it passes it on.
func showing(c *effective.FilterChain) *corev3.TransportSocket {
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
		common.TlsCertificateSdsSecretConfigs = append(common.TlsCertificateSdsSecretConfigs, &tlsv3.SdsSecretConfig{Name: index.SecretName(ref), SdsConfig: envoy.OverADS(secrets.Wait)})
	}
	return &corev3.TransportSocket{
		Name:       "envoy.transport_sockets.tls",
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&tlsv3.DownstreamTlsContext{CommonTlsContext: common})},
	}
}

// ChainPolicies are those of the hosts of a chain as a whole.
func ChainPolicies(c *effective.FilterChain) effective.Policies {
	if c.To != nil {
		return c.To.Policies
	}
	if len(c.Hosts) == 0 {
		return nil
	}
	return c.Hosts[0].Policies
}
