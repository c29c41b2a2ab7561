package xds

import (
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httpinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/http_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	preservecasev3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/header_formatters/preserve_case/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
)

// Passthrough is the name of the virtual host, and of the cluster, by which requests and
// connections that are for no host of the mesh go on to where they were going.
const Passthrough = "outbound:passthrough"

const (
	httpInspector = "envoy.filters.listener.http_inspector"
	connect       = "CONNECT"
)

// inspectionTime is how long a listener waits for the first bytes of a client, until it
// lets pass whatever comes: those of other protocols may wait for the server's.
const inspectionTime = time.Second

// PassthroughHostsName is the name of the route configuration of all hosts at a port behind
// redirection: that of HostsName, and what becomes of the others.
func PassthroughHostsName(port uint32) string { return HostsName(port) + ":passthrough" }

// passthroughHost is the virtual host of all hosts that no route serves.
func passthroughHost() *routev3.VirtualHost {
	pass := func(m *routev3.RouteMatch, upgrades ...*routev3.RouteAction_UpgradeConfig) *routev3.Route {
		return &routev3.Route{Name: Passthrough, Match: m, Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: Passthrough},
			Timeout:          durationpb.New(0), IdleTimeout: durationpb.New(0), UpgradeConfigs: upgrades,
		}}}
	}
	return &routev3.VirtualHost{Name: Passthrough, Domains: []string{"*"}, Routes: []*routev3.Route{
		pass(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_ConnectMatcher_{ConnectMatcher: &routev3.RouteMatch_ConnectMatcher{}}},
			&routev3.RouteAction_UpgradeConfig{UpgradeType: connect}),
		pass(&routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{}}),
	}}
}

// passthroughCluster is wherever they were going. It is one for all dataplanes.
var passthroughCluster = func() *Resource {
	c := originalDestination(Passthrough)
	c.TypedExtensionProtocolOptions = protocolOptions(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_UseDownstreamProtocolConfig{
			UseDownstreamProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_UseDownstreamHttpConfig{
				HttpProtocolOptions:  &corev3.Http1ProtocolOptions{HeaderKeyFormat: asWritten()},
				Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
			},
		},
	})
	return newResource(Passthrough, c)
}()

// asWritten keeps the names of headers in the case in which they come.
func asWritten() *corev3.Http1ProtocolOptions_HeaderKeyFormat {
	return &corev3.Http1ProtocolOptions_HeaderKeyFormat{HeaderFormat: &corev3.Http1ProtocolOptions_HeaderKeyFormat_StatefulFormatter{
		StatefulFormatter: &corev3.TypedExtensionConfig{
			Name: "envoy.http.stateful_header_formatters.preserve_case", TypedConfig: Pack(&preservecasev3.PreserveCaseFormatterConfig{}),
		},
	}}
}

// changeNothing makes m leave requests and answers of hosts that no route serves as they come, as far as
// what it does for all of them goes.
func changeNothing(m *hcmv3.HttpConnectionManager) {
	m.HttpProtocolOptions.HeaderKeyFormat = asWritten()
	m.ServerHeaderTransformation = hcmv3.HttpConnectionManager_PASS_THROUGH
}

// lookFirst makes l look at the first bytes of a connection: requests go by filters, all
// else to where it was going.
func lookFirst(l *listenerv3.Listener, filters []*listenerv3.Filter) {
	l.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name: httpInspector, ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: Pack(&httpinspectorv3.HttpInspector{})},
	}}
	l.ListenerFiltersTimeout, l.ContinueOnListenerFiltersTimeout = durationpb.New(inspectionTime), true
	l.FilterChains = []*listenerv3.FilterChain{
		{FilterChainMatch: &listenerv3.FilterChainMatch{ApplicationProtocols: []string{"http/1.1", "h2c"}}, Filters: filters},
		{Filters: bytesTo(Passthrough, l.Name)},
	}
}

// spare listens at the dataplane's own addresses where the hosts at a port would be
// called: what comes to such a port is for the workload, and would go out again if it
// came to the listener for all addresses.
func (s *State) spare(r *effective.Resolved, net *api.Networking) {
	for i, o := range r.Outbounds {
		if !o.Passthrough || i > 0 && sameListener(r.Outbounds[i-1], o) {
			continue
		}
		for ip := range net.Addresses() {
			at := listening{ip.String(), o.Port}
			if s.taken[at] || ip.Is4() != (o.Address == anyIPv4) {
				continue
			}
			cluster, name := inboundPassthrough+family(ip), inboundPassthrough+joined(at.ip, at.port)
			sealed := newResource(name, &listenerv3.Listener{
				Name: name, Address: socket(at.ip, at.port), TrafficDirection: corev3.TrafficDirection_INBOUND, BindToPort: wrapperspb.Bool(false),
				FilterChains: []*listenerv3.FilterChain{{Filters: bytesTo(undeclared(r, cluster), name)}}, Metadata: named([]*api.Origin{{Ref: r.Ref}}),
			})
			sealed.Clusters = []string{cluster}
			s.listen(r, sealed, at, nil)
		}
	}
}
