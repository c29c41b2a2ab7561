package render

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// agentAt is the SidecarCluster: the agent of the sidecar, at a unix socket.
func agentAt(socket string) *clusterv3.Cluster {
	out := atSocket(naming.SidecarCluster, socket)
	out.TypedExtensionProtocolOptions = envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)})
	return out
}

// mostFetching is how many may fetch metrics at a time; more are answered 503.
const mostFetching = 16

// metricsAt is the MetricsCluster: where the agent serves metrics.
func metricsAt(socket string) *clusterv3.Cluster {
	out := atSocket(naming.MetricsCluster, socket)
	most := wrapperspb.UInt32(mostFetching)
	out.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
		MaxConnections: most, MaxRequests: most, MaxPendingRequests: most,
	}}}
	return out
}

func atSocket(cluster, socket string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: cluster, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: socket}}},
			}}}},
		}}},
	}
}
