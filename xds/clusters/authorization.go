package clusters

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// Authorization is the authorization service as sidecars call it. Its circuit breaker is as wide as that
// of a destination: what it sheds is answered as if the service were down.
func Authorization(a *filters.ExtAuthz) *resource.Resource {
	out := &clusterv3.Cluster{
		Name:                          naming.Authorization,
		ConnectTimeout:                durationpb.New(filters.AuthorizationTimeout),
		CircuitBreakers:               envoy.Thresholds(),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:                envoy.Assignment(naming.Authorization, envoy.OneHost(a.Host, a.Port)),
		TypedExtensionProtocolOptions: envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)}),
	}
	if !envoy.IsIP(a.Host) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		out.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	}
	return resource.New(naming.Authorization, out)
}
