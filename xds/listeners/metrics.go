package listeners

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// Bounds of who fetches metrics: whoever reaches the port may ask.
const (
	metricsTimeout = 30 * time.Second // of an answer; Prometheus waits for ten
	metricsIdle    = 5 * time.Minute  // Prometheus asks each minute at least
)

// Metrics is where metrics are fetched: one path, which leads to the agent of the sidecar and there to metrics
// alone. Origins are whose word it is.
func Metrics(p envoy.MetricsPort, address string, origins []*api.Origin) (*resource.Resource, []api.Note) {
	name := naming.MetricsListener(p.Port)
	m := &hcmv3.HttpConnectionManager{
		StatPrefix: name,
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{Name: name, VirtualHosts: []*routev3.VirtualHost{{
			Name: name, Domains: []string{"*"}, Routes: []*routev3.Route{toAgent(p.Path)},
		}}}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: envoy.RouterFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&routerv3.Router{})},
		}},
		CommonHttpProtocolOptions: &corev3.HttpProtocolOptions{IdleTimeout: durationpb.New(metricsIdle)},
		RequestHeadersTimeout:     durationpb.New(metricsTimeout),
		NormalizePath:             wrapperspb.Bool(true),
		GenerateRequestId:         wrapperspb.Bool(false),
	}
	chain := &listenerv3.FilterChain{Filters: []*listenerv3.Filter{{Name: managerFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(m)}}}}
	if p.TLS {
		chain.TransportSocket = byMetricsCertificate()
	}
	out := &listenerv3.Listener{
		Name: name, Address: envoy.Socket(address, p.Port), TrafficDirection: corev3.TrafficDirection_INBOUND,
		FilterChains: []*listenerv3.FilterChain{chain}, Metadata: origin.Metadata(origins),
	}
	if err := checkListener(out, address); err != nil {
		return nil, origin.Refused(origins, "nobody listens at "+naming.Address(address, p.Port)+" for who fetches metrics", err)
	}
	return resource.New(name, out), nil
}

// toAgent is a route for one path alone.
func toAgent(path string) *routev3.Route {
	return &routev3.Route{
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Path{Path: path}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: naming.MetricsCluster},
			PrefixRewrite:    bootstrap.MetricsPath, // of a whole path all of it
			Timeout:          durationpb.New(metricsTimeout),
		}},
	}
}

// byMetricsCertificate shows the certificate that the bootstrap has for metrics.
func byMetricsCertificate() *corev3.TransportSocket {
	return &corev3.TransportSocket{
		Name: envoy.TLSSocketName,
		ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsParams:                      &tlsv3.TlsParameters{TlsMinimumProtocolVersion: tlsv3.TlsParameters_TLSv1_2, TlsMaximumProtocolVersion: tlsv3.TlsParameters_TLSv1_3},
			AlpnProtocols:                  []string{"h2", "http/1.1"},
			TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: naming.MetricsCertificate}},
		}})},
	}
}
