package xds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// The writers are what a policy's conf may implement to reach Envoy. Each gets
// one object that is already complete but for policies, and sets only fields
// that no other kind sets, so the order of kinds does not matter. A conf writes
// only what it has a value for.

// Place says what an object stands for.
type Place struct {
	Protocol api.Protocol
	Inbound  bool
}

// RouteWriter writes one route. Routes that redirect or answer by themselves
// have no RouteAction; whatever belongs there does not apply to them.
type RouteWriter interface {
	WriteRoute(*routev3.Route, Place)
}

// HostWriter moves what several routes of one virtual host share into it. It is
// asked of the conf of one of the routes, once all of them are written.
type HostWriter interface {
	WriteHost(*routev3.VirtualHost, []HostRoute)
}

// HostRoute is a route of the virtual host that a policy of the kind has written.
type HostRoute struct {
	Route  *routev3.Route
	Policy *policies.Effective
}

// ClusterWriter writes one cluster. Options are nil where the cluster does not speak HTTP.
type ClusterWriter interface {
	WriteCluster(*clusterv3.Cluster, *upstreamhttpv3.HttpProtocolOptions, Place)
}

// ManagerWriter writes the connection manager of an HTTP listener.
type ManagerWriter interface {
	WriteManager(*hcmv3.HttpConnectionManager, Place)
}

// TCPWriter writes the TCP proxy of a listener.
type TCPWriter interface {
	WriteTCP(*tcpproxyv3.TcpProxy, Place)
}

// NetworkFilterWriter puts network filters before the last one of a listener.
type NetworkFilterWriter interface {
	NetworkFilters(Place) []*listenerv3.Filter
}

// HTTPFilterWriter names the HTTP filters that must be in every connection
// manager, from the start and without configuration, so that routes can use
// them. It is asked of a new conf of each kind.
type HTTPFilterWriter interface {
	HTTPFilters() []*hcmv3.HttpFilter
}
