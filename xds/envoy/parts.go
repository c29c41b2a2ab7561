package envoy

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	preservecasev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/header_formatters/preserve_case/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Names of what several resources have.
const (
	RouterFilter = "envoy.filters.http.router"
	WebSocket    = "websocket"
)

// Forever is how long a sidecar waits for its first resources of a type.
const Forever time.Duration = 0

// OverADS says that a resource comes over the sidecar's one stream. A wait of
// zero is for ever: a sidecar never starts with half of its configuration.
func OverADS(wait time.Duration) *corev3.ConfigSource {
	return &corev3.ConfigSource{
		ResourceApiVersion:    corev3.ApiVersion_V3,
		InitialFetchTimeout:   durationpb.New(wait),
		ConfigSourceSpecifier: &corev3.ConfigSource_Ads{Ads: &corev3.AggregatedConfigSource{}},
	}
}

// Socket is an address of TCP.
func Socket(address string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: address, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

// IsIP reports whether host is an address and no name.
func IsIP(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

// HostPort is where something listens or answers.
type HostPort struct {
	Host string
	Port uint32
}

// ByGRPC is a service that is called by a cluster.
func ByGRPC(cluster string) *corev3.GrpcService {
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: cluster}}}
}

// OneHost is a list of one host.
func OneHost(host string, port uint32) [][]HostPort { return [][]HostPort{{{host, port}}} }

// Assignment is a list of hosts for each priority.
func Assignment(cluster string, priorities [][]HostPort) *endpointv3.ClusterLoadAssignment {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: cluster}
	for priority, hosts := range priorities {
		group := &endpointv3.LocalityLbEndpoints{
			Locality: &corev3.Locality{}, LoadBalancingWeight: wrapperspb.UInt32(uint32(len(hosts))), Priority: uint32(priority),
		}
		for _, h := range hosts {
			group.LbEndpoints = append(group.LbEndpoints, LbEndpoint(h.address(), nil))
		}
		out.Endpoints = append(out.Endpoints, group)
	}
	return out
}

// LbEndpoint is one endpoint with what is said of it.
func LbEndpoint(address *corev3.Address, metadata *corev3.Metadata) *endpointv3.LbEndpoint {
	return &endpointv3.LbEndpoint{
		HostIdentifier:      &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address}},
		LoadBalancingWeight: wrapperspb.UInt32(1),
		Metadata:            metadata,
	}
}

// HTTP2Upstream is HTTP/2 by prior knowledge.
func HTTP2Upstream(keepalive *corev3.KeepaliveSettings) *upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_ {
	return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_Http2ProtocolOptions{
			Http2ProtocolOptions: &corev3.Http2ProtocolOptions{ConnectionKeepalive: keepalive},
		},
	}}
}

// HTTP1Upstream is HTTP/1.1.
func HTTP1Upstream() *upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_ {
	return &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_{ExplicitHttpConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig{
		ProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_ExplicitHttpConfig_HttpProtocolOptions{
			HttpProtocolOptions: &corev3.Http1ProtocolOptions{},
		},
	}}
}

// ProtocolOptions are the extension of a cluster that says how requests go on.
func ProtocolOptions(o *upstreamhttpv3.HttpProtocolOptions) map[string]*anypb.Any {
	return map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": Pack(o)}
}

// TLSSocketName is the transport socket that speaks TLS.
const TLSSocketName = "envoy.transport_sockets.tls"

// TLSSocket calls by TLS.
func TLSSocket(tls *tlsv3.UpstreamTlsContext) *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name:       TLSSocketName,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: Pack(tls)},
	}
}

// Exactly matches one text.
func Exactly(text string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: text}}
}

// Regex is an expression as Envoy has it.
func Regex(source string) *matcherv3.RegexMatcher {
	return &matcherv3.RegexMatcher{Regex: source}
}

// FullMatch matches texts that source matches from end to end.
func FullMatch(source string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: Regex(source)}}
}

// unixPrefix begins the address of an external endpoint that is a unix socket.
const unixPrefix = "unix://"

// Unix is the path of a unix socket; not ok for an address.
func (h HostPort) Unix() (path string, ok bool) { return strings.CutPrefix(h.Host, unixPrefix) }

func (h HostPort) address() *corev3.Address {
	if path, ok := h.Unix(); ok {
		return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
	}
	return Socket(h.Host, h.Port)
}

// TextMetadata is a map of texts under key; nil if it is empty.
func TextMetadata(key string, text map[string]string) *corev3.Metadata {
	if len(text) == 0 {
		return nil
	}
	return &corev3.Metadata{FilterMetadata: map[string]*structpb.Struct{key: TextStruct(text)}}
}

// TextStruct is a map of texts.
func TextStruct(text map[string]string) *structpb.Struct {
	s := &structpb.Struct{Fields: make(map[string]*structpb.Value, len(text))}
	for _, k := range SortedKeys(text) {
		s.Fields[k] = structpb.NewStringValue(text[k])
	}
	return s
}

// SortedKeys are the keys of m in order.
func SortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	return slices.Sorted(maps.Keys(m))
}

// SANMatcher wants m of the subject alternative names of name's type.
func SANMatcher(name string, m *matcherv3.StringMatcher) *tlsv3.SubjectAltNameMatcher {
	kind := tlsv3.SubjectAltNameMatcher_DNS
	if IsIP(name) {
		kind = tlsv3.SubjectAltNameMatcher_IP_ADDRESS
	}
	return &tlsv3.SubjectAltNameMatcher{SanType: kind, Matcher: m}
}

// OneSpelling takes care that a path by which it is decided who gets in has no second spelling
// (spec/identity.md F12, 4.4): what only the workload equates, as upper and lower case, stays.
func OneSpelling(m *hcmv3.HttpConnectionManager) {
	m.NormalizePath, m.MergeSlashes = wrapperspb.Bool(true), true
	m.PathWithEscapedSlashesAction = hcmv3.HttpConnectionManager_REJECT_REQUEST
}

// ALPNMesh is the protocol that proxies of the mesh name in TLS. Servers name none: with it
// configured there HTTP/2 would be read as HTTP/1.1 (spec/identity.md 0, F11).
const ALPNMesh = "weft"

// AsWritten keeps the names of headers in the case in which they come.
func AsWritten() *corev3.Http1ProtocolOptions_HeaderKeyFormat {
	return &corev3.Http1ProtocolOptions_HeaderKeyFormat{HeaderFormat: &corev3.Http1ProtocolOptions_HeaderKeyFormat_StatefulFormatter{
		StatefulFormatter: &corev3.TypedExtensionConfig{
			Name: "envoy.http.stateful_header_formatters.preserve_case", TypedConfig: Pack(&preservecasev3.PreserveCaseFormatterConfig{}),
		},
	}}
}
