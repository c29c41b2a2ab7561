package filters

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	headersv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/header_to_metadata/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// TapHeaders reads headers of requests for who watches them. Which ones its agent says, by Envoy's discovery of
// extensions, so that a tap changes no listener; until it has said so there are none, and no listener waits for
// an agent (spec/telemetry.md L1, L2).
func TapHeaders() *hcmv3.HttpFilter {
	config := envoy.Pack(&headersv3.Config{})
	return &hcmv3.HttpFilter{Name: bootstrap.TapHeadersFilter, ConfigType: &hcmv3.HttpFilter_ConfigDiscovery{ConfigDiscovery: &corev3.ExtensionConfigSource{
		ConfigSource: &corev3.ConfigSource{
			ResourceApiVersion:  corev3.ApiVersion_V3,
			InitialFetchTimeout: durationpb.New(envoy.Forever),
			ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
				ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3,
				SetNodeOnFirstMessageOnly: true, GrpcServices: []*corev3.GrpcService{envoy.ByGRPC(naming.SidecarCluster)},
			}},
		},
		DefaultConfig: config, ApplyDefaultConfigWithoutWarming: true,
		TypeUrls: []string{"type.googleapis.com/" + string(proto.MessageName(&headersv3.Config{}))},
	}}}
}
