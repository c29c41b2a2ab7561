package listeners

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	grpcstatsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/grpc_stats/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
)

const (
	managerFilter = "envoy.filters.network.http_connection_manager"
	statsFilter   = "envoy.filters.http.grpc_stats"
)

// manager is the filter that tells requests apart. Routes come by name, never
// inlined, so that they change without the listener.
func (b *Builder) manager(c chain) *listenerv3.Filter {
	m := &hcmv3.HttpConnectionManager{
		StatPrefix: c.stat,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource: envoy.OverADS(envoy.Forever), RouteConfigName: c.routes,
		}},
		HttpFilters: b.httpFilters(c),
		// Unset is neither Envoy's five minutes for a stream nor its hour for a
		// connection: an application's idle connection to its proxy costs nothing.
		StreamIdleTimeout:             durationpb.New(0),
		CommonHttpProtocolOptions:     &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(0)},
		NormalizePath:                 wrapperspb.Bool(!c.hosts || c.edge != nil), // requests for any host come there
		InternalAddressConfig:         loopbackOnly(),
		UpgradeConfigs:                []*hcmv3.HttpConnectionManager_UpgradeConfig{{UpgradeType: envoy.WebSocket}},
		EarlyHeaderMutationExtensions: []*corev3.TypedExtensionConfig{filters.WithoutControlHeaders()},
	}
	if c.hosts { // whose routes may be for methods that nobody else knows
		m.HttpProtocolOptions = &corev3.Http1ProtocolOptions{AllowCustomMethods: true}
	}
	if c.passes {
		changeNothing(m)
	}
	m.Http2ProtocolOptions = &corev3.Http2ProtocolOptions{}
	if c.edge == nil { // whose clients are the mesh's own
		mayReset(m.Http2ProtocolOptions)
	}
	if c.place.Inbound {
		// A WebSocket comes by HTTP/2 from the caller's sidecar: as CONNECT.
		m.Http2ProtocolOptions.AllowConnect, m.Http2ProtocolOptions.OverrideStreamErrorOnInvalidHttpMessage = true, wrapperspb.Bool(true)
		m.ForwardClientCertDetails = hcmv3.HttpConnectionManager_SANITIZE_SET
		m.SetCurrentClientCertDetails = &hcmv3.HttpConnectionManager_SetCurrentClientCertDetails{Uri: true}
		m.LocalReplyConfig = filters.MarkUnsent()
	}
	if c.place.Chain == envoy.Plain { // who proves nothing is nobody, whatever its requests say
		m.ForwardClientCertDetails, m.SetCurrentClientCertDetails = hcmv3.HttpConnectionManager_SANITIZE, nil
	}
	c.bounded(m.CommonHttpProtocolOptions)
	if c.edge != nil {
		outside(m, c.edge)
	}
	for _, e := range c.ps {
		if w, ok := e.Conf.(envoy.ManagerWriter); ok {
			w.WriteManager(m, c.place)
		}
	}
	if b.reports {
		m.AccessLog = append(m.AccessLog, requestLogs...)
	}
	c.writePartsOfManager(m)
	if c.place.Paths && c.place.Chain != envoy.Unguarded {
		envoy.OneSpelling(m)
	}
	return &listenerv3.Filter{Name: managerFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(m)}}
}

// How many streams of an HTTP/2 connection of the mesh may be reset by who opened them: at once, and
// a second after that.
const (
	resetBurst = 100_000
	resetRate  = 10_000
)

// mayReset has a connection outlive many streams that are reset. A sidecar brings the requests of
// many clients by one connection, and resets the stream of each that goes away before the end, as
// WebSockets always do; one reset more than 1,000, or than 33 a second after that, and Envoy's default
// ends the connection under all others. It bounds by itself how many streams are reset that were not
// answered yet (runtime key overload.premature_reset_total_stream_count).
func mayReset(h *corev3.Http2ProtocolOptions) {
	h.StreamResetBurst, h.StreamResetRate = wrapperspb.UInt64(resetBurst), wrapperspb.UInt64(resetRate)
}

// httpFilters are those that any route may need, by name, then the router.
func (b *Builder) httpFilters(c chain) []*hcmv3.HttpFilter {
	out := append(b.guardRequests(c), b.http...)
	if c.hosts {
		out = append([]*hcmv3.HttpFilter{filters.ClaimsReader(), filters.ClientLimiter()}, out...)
	}
	if !c.place.Inbound {
		out = append([]*hcmv3.HttpFilter{filters.CORS()}, out...)
	}
	if c.place.Protocol == api.GRPC {
		out = append(out, &hcmv3.HttpFilter{
			Name: statsFilter,
			ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&grpcstatsv3.FilterConfig{
				EmitFilterState:        true,
				PerMethodStatSpecifier: &grpcstatsv3.FilterConfig_StatsForAllMethods{StatsForAllMethods: wrapperspb.Bool(false)},
			})},
		})
	}
	if c.hosts {
		out = append(out, filters.AuthorizationFilter(), filters.Delayer()) // behind all limits
	}
	out = append(out, b.last...)
	router := &routerv3.Router{}
	if b.reports {
		router.UpstreamLog = attemptLogs
		out = append([]*hcmv3.HttpFilter{filters.TapHeaders()}, out...) // before what refuses requests
	}
	return append(out, &hcmv3.HttpFilter{
		Name: envoy.RouterFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(router)},
	})
}

func loopbackOnly() *hcmv3.HttpConnectionManager_InternalAddressConfig {
	return &hcmv3.HttpConnectionManager_InternalAddressConfig{CidrRanges: []*corev3.CidrRange{
		{AddressPrefix: "127.0.0.1", PrefixLen: wrapperspb.UInt32(32)},
		{AddressPrefix: "::1", PrefixLen: wrapperspb.UInt32(128)},
	}}
}

// bounded is how long connections live, if c says so.
func (c *chain) bounded(o *corev3.HttpProtocolOptions) {
	if c.bound > 0 {
		o.MaxConnectionDuration = durationpb.New(c.bound)
	}
}

// outside makes m one for clients that nobody knows (spec/kuma.md 1.4): who they are is
// seen from their connection and the proxies that are trusted, none of them is internal,
// and they cannot write one path or host in several ways. Idle connections cost something
// here, so that Envoy's own bounds hold where nobody says more.
func outside(m *hcmv3.HttpConnectionManager, e *effective.Edge) {
	m.UseRemoteAddress, m.XffNumTrustedHops = wrapperspb.Bool(true), e.TrustedHops
	m.InternalAddressConfig = &hcmv3.HttpConnectionManager_InternalAddressConfig{CidrRanges: []*corev3.CidrRange{
		{AddressPrefix: AnyIPv4, PrefixLen: wrapperspb.UInt32(32)}, // which is nobody's: without any range private ones are internal
	}}
	m.MergeSlashes, m.StripTrailingHostDot = true, true
	m.StreamIdleTimeout, m.CommonHttpProtocolOptions = nil, nil
}
