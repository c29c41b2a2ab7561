package render

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// agentAt is the SidecarCluster: the agent of the sidecar, at a unix socket.
func agentAt(socket string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: naming.SidecarCluster, ConnectTimeout: durationpb.New(time.Second),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: naming.SidecarCluster, Endpoints: []*endpointv3.LocalityLbEndpoints{{
			LbEndpoints: []*endpointv3.LbEndpoint{{HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{
				Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: socket}}},
			}}}},
		}}},
		TypedExtensionProtocolOptions: envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)}),
	}
}
