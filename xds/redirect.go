package xds

import (
	"net/netip"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// The ports to which redirected traffic goes where a Dataplane names none, and
// the address that stands for every address.
const (
	redirectInbound  = 15006
	redirectOutbound = 15001
	redirectDNS      = 15053
	anyIPv4          = "0.0.0.0"
)

// inboundPassthrough begins the names of what lets connections to the workload pass.
const inboundPassthrough = "inbound:passthrough:"

// sourceFor is the address from which a sidecar calls its own workload at
// address, so that the redirection rules let the call pass.
func sourceFor(address string) string {
	if strings.Contains(address, ":") {
		return "::6"
	}
	return "127.0.0.6"
}

// passthrough adds where redirected traffic arrives. Envoy hands a connection to
// the listener of its original address; what has none goes on to where it was
// going.
func (s *State) passthrough(r *effective.Resolved) {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil || dp.Networking.TransparentProxying == nil {
		return
	}
	t := dp.Networking.TransparentProxying
	in, out := t.RedirectPortInbound, t.RedirectPortOutbound
	if in == 0 {
		in = redirectInbound
	}
	if out == 0 {
		out = redirectOutbound
	}
	for _, ip := range t.Families() {
		going, coming := Passthrough+":"+family(ip), inboundPassthrough+family(ip)
		s.capture(r, going, going, ip.String(), corev3.TrafficDirection_OUTBOUND, "", out)
		s.capture(r, coming, undeclared(r, coming), ip.String(), corev3.TrafficDirection_INBOUND, sourceFor(ip.String()), in, out, redirectDNS)
	}
	s.spare(r, dp.Networking)
}

// undeclared is where connections go to ports of the workload that no inbound names: there, or,
// where the dataplane is strict, nowhere (spec/identity.md 3.2).
func undeclared(r *effective.Resolved, there string) string {
	if r.Closed != nil {
		return Unresolved
	}
	return there
}

func family(ip netip.Addr) string {
	if ip.Is4() {
		return "ipv4"
	}
	return "ipv6"
}

// capture is the listener for one direction, and the cluster that is wherever a
// connection was going, to which or elsewhere it is handed. It listens at the first of the sidecar's own ports. A connection
// to one of them ends, for it would go on to the sidecar itself, and to this listener for
// ever (spec/kubernetes.md 5.4).
func (s *State) capture(r *effective.Resolved, name, to, ip string, direction corev3.TrafficDirection, source string, own ...uint32) {
	metadata, port := named([]*api.Origin{{Ref: r.Ref}}), own[0]
	listener := &listenerv3.Listener{
		Name: name, Address: socket(ip, port), TrafficDirection: direction, UseOriginalDst: wrapperspb.Bool(true), Metadata: metadata,
	}
	slices.Sort(own)
	for _, p := range slices.Compact(own) {
		listener.FilterChains = append(listener.FilterChains, &listenerv3.FilterChain{
			FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(p)}, Filters: bytesTo(Unresolved, name),
		})
	}
	listener.FilterChains = append(listener.FilterChains, &listenerv3.FilterChain{Filters: bytesTo(to, name)})
	cluster := originalDestination(name)
	cluster.Metadata = metadata
	if source != "" {
		cluster.UpstreamBindConfig = bindTo(source)
	}
	sealed := newResource(name, listener)
	sealed.Clusters = []string{name}
	s.listen(r, sealed, listening{ip, port}, nil)
	s.add(&s.Clusters, newResource(name, cluster), nil)
}

// bytesTo are the filters that hand whole connections to a cluster.
func bytesTo(cluster, stat string) []*listenerv3.Filter {
	return []*listenerv3.Filter{{Name: tcpProxyFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: Pack(&tcpproxyv3.TcpProxy{
		StatPrefix: stat, ClusterSpecifier: &tcpproxyv3.TcpProxy_Cluster{Cluster: cluster},
	})}}}
}

// originalDestination is the cluster that is wherever a connection was going.
func originalDestination(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, ConnectTimeout: durationpb.New(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
		LbPolicy:             clusterv3.Cluster_CLUSTER_PROVIDED,
		CircuitBreakers:      thresholds(),
	}
}

func bindTo(source string) *corev3.BindConfig {
	return &corev3.BindConfig{SourceAddress: &corev3.SocketAddress{
		Address: source, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 0},
	}}
}
