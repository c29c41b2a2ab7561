package envoy

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/xds/naming"
)

// Collector is a collector of OpenTelemetry, as proxies call it: in plain text, by HTTP/2.
func Collector(at HostPort) *clusterv3.Cluster {
	name := naming.Collector(at.Host, at.Port)
	out := &clusterv3.Cluster{
		Name:                          name,
		ConnectTimeout:                durationpb.New(5 * time.Second),
		ClusterDiscoveryType:          &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:                Assignment(name, OneHost(at.Host, at.Port)),
		TypedExtensionProtocolOptions: ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: HTTP2Upstream(nil)}),
	}
	if !IsIP(at.Host) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		out.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	}
	return out
}
