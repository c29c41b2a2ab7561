package clusters

import (
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// Passthrough is wherever requests and connections were going that are for no host of
// the mesh. It is one for all dataplanes.
var Passthrough = func() *resource.Resource {
	c := originalDestination(naming.Passthrough)
	c.TypedExtensionProtocolOptions = envoy.ProtocolOptions(&upstreamhttpv3.HttpProtocolOptions{
		UpstreamProtocolOptions: &upstreamhttpv3.HttpProtocolOptions_UseDownstreamProtocolConfig{
			UseDownstreamProtocolConfig: &upstreamhttpv3.HttpProtocolOptions_UseDownstreamHttpConfig{
				HttpProtocolOptions:  &corev3.Http1ProtocolOptions{HeaderKeyFormat: envoy.AsWritten()},
				Http2ProtocolOptions: &corev3.Http2ProtocolOptions{},
			},
		},
	})
	return resource.New(naming.Passthrough, c)
}()

// Captured is the cluster by that name that is wherever a redirected connection was going. What
// goes to the workload comes from source.
func Captured(r *effective.Resolved, name, source string) *resource.Resource {
	out := originalDestination(name)
	out.Metadata = origin.Metadata([]*api.Origin{{Ref: r.Ref}})
	if source != "" {
		out.UpstreamBindConfig = bindTo(source)
	}
	return resource.New(name, out)
}

// originalDestination is the cluster that is wherever a connection was going.
func originalDestination(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name: name, AltStatName: statName(name), ConnectTimeout: durationpb.New(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_ORIGINAL_DST},
		LbPolicy:             clusterv3.Cluster_CLUSTER_PROVIDED,
		CircuitBreakers:      envoy.Thresholds(),
	}
}

// SourceFor is the address from which a sidecar calls its own workload at
// address, so that the redirection rules let the call pass.
func SourceFor(address string) string {
	if strings.Contains(address, ":") {
		return "::6"
	}
	return "127.0.0.6"
}

func bindTo(source string) *corev3.BindConfig {
	return &corev3.BindConfig{SourceAddress: &corev3.SocketAddress{
		Address: source, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: 0},
	}}
}
