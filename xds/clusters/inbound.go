package clusters

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// RenderInbound is the workload behind an inbound, as its sidecar calls it.
func RenderInbound(place envoy.Place, i *effective.Inbound, redirected bool) (*resource.Resource, []api.Note) {
	name := naming.Inbound(i)
	out := &clusterv3.Cluster{
		Name:                 name,
		AltStatName:          statName(name),
		ConnectTimeout:       durationpb.New(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:       envoy.Assignment(name, envoy.OneHost(i.ServiceAddress, i.ServicePort)),
		CircuitBreakers:      envoy.Thresholds(),
	}
	if !envoy.IsIP(i.ServiceAddress) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	}
	if redirected {
		out.UpstreamBindConfig = bindTo(SourceFor(i.ServiceAddress))
	}
	origins := finishCluster(out, upstreamProtocol(place.Protocol, false), i.Policies, place)
	out.Metadata = origin.Metadata(origins)
	if err := out.ValidateAll(); err != nil {
		return nil, origin.Refused(origins, "the workload is not reached at this port", err)
	}
	return resource.New(name, out), nil
}
