package xds

import (
	"net/netip"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// overADS says that a resource comes over the sidecar's one stream. A wait of
// zero is for ever: a sidecar never starts with half of its configuration.
func overADS(wait time.Duration) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		InitialFetchTimeout:   durationpb.New(wait),
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

func socket(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

func isIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

type hostPort struct {
	host string
	port uint32
}

// assignment is a list of hosts for each priority.
func assignment(cluster string, priorities [][]hostPort) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	for priority, hosts := range priorities {
		group := &endpointv3.LocalityLbEndpoints{
			Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(uint32(len(hosts))), Priority: uint32(priority),
		}
		for _, h := range hosts {
			group.LbEndpoints = append(group.LbEndpoints, lbEndpoint(h.address(), nil))
		}
		out.Endpoints = append(out.Endpoints, group)
	}
	return out
}

func lbEndpoint(address *corev3.Address, metadata *corev3.Metadata) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{
		HostIdentifier:      &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
		LoadBalancingWeight: wrapperspb.UInt32(1),
		Metadata:            metadata,
	}
}

// http2Upstream is HTTP/2 by prior knowledge.
func http2Upstream(keepalive *corev3.KeepaliveSettings) *upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_ {
	return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: keepalive},
		},
	}}
}

func http1Upstream() *upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_ {
	return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
			HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
		},
	}}
}

func protocolOptions(o *upstreamhttpv3.HttpProtocolOptions) map[string]*anypb.Any {
	return map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": Pack(o)}
}

const tlsSocketName = "envoy.transport_sockets.tls"

func tlsSocket(tls *tlsv3.UpstreamTlsContext) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       tlsSocketName,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Pack(tls)},
	}
}

func exactly(text string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: text}}
}

func regex(source string) *matcherv3.RegexMatcher {
	return &matcherv3.RegexMatcher{Regex: source}
}

func fullMatch(source string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: regex(source)}}
}

// unixPrefix begins the address of an external endpoint that is a unix socket.
const unixPrefix = "unix://"

func (h hostPort) unix() (path string, ok bool) { return strings.CutPrefix(h.host, unixPrefix) }

func (h hostPort) address() *corev3.Address {
	if path, ok := h.unix(); ok {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
	}
	return socket(h.host, h.port)
}
