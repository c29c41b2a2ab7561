package listeners

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	grpcv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/grpc/v3"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

// connectionLog is what an inbound writes of connections that have ended: to the agent of the
// sidecar, so that who calls in plain text is known (spec/identity.md 5). It is the same in each
// mode, so that a change of mode is one of chains; a sidecar whose agent serves no secrets has
// none.
func connectionLog(t *effective.InboundTLS) []*accesslogv3.AccessLog {
	if t == nil || t.OverADS {
		return nil
	}
	return []*accesslogv3.AccessLog{{
		Name: "envoy.access_loggers.tcp_grpc",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: envoy.Pack(&grpcv3.TcpGrpcAccessLogConfig{CommonConfig: &grpcv3.CommonGrpcAccessLogConfig{
			LogName: "connections", TransportApiVersion: corev3.ApiVersion_V3,
			GrpcService: envoy.ByGRPC(naming.SidecarCluster),
		}})},
	}}
}
