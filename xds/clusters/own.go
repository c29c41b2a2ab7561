package clusters

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// Own is a cluster that policies ask for, and origins are who asks. What it cannot take at a time is
// dropped: a collector that is slow keeps no request waiting.
func Own(c envoy.OwnCluster, origins []*api.Origin) (*resource.Resource, []api.Note) {
	name := c.Name()
	out := &clusterv3.Cluster{
		Name: name, AltStatName: statName(name),
		ConnectTimeout:       durationpb.New(connectTimeout),
		CircuitBreakers:      envoy.Thresholds(),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:       envoy.Assignment(name, envoy.OneHost(c.Host, c.Port)),
		Metadata:             origin.Metadata(origins),
	}
	if c.HTTP2 {
		out.TypedExtensionProtocolOptions = envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)})
	} else {
		out.TypedExtensionProtocolOptions = envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP1Upstream()})
	}
	if !envoy.IsIP(c.Host) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
		out.DnsLookupFamily = clusterv3.Cluster_V4_PREFERRED
	}
	socket, err := externalTLS(&api.ExternalTLS{Enabled: c.TLS}, c.Host)
	if out.TransportSocket = socket; err == nil {
		err = out.ValidateAll()
	}
	if err != nil {
		return nil, origin.Refused(origins, "nothing is sent there", err)
	}
	return resource.New(name, out), nil
}
