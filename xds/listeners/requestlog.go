package listeners

import (
	"strconv"
	"time"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	grpcv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/grpc/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	tracingv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
)

// How lines come to the agent: what waits is bounded, so that an agent that is gone costs lines and never
// requests (spec/telemetry.md L2).
const (
	flushEvery = 250 * time.Millisecond
	mostBytes  = 16 << 10
)

// requestLogs is what every connection manager writes of requests to the agent of the sidecar: those that
// failed, and those that somebody watches, nobody at first. It is one constant, the same for all
// dataplanes, so that listeners stay shared and what is written changes by the runtime alone, without a
// connection that drains (spec/telemetry.md L1).
var requestLogs = []*accesslogv3.AccessLog{
	requestLog(bootstrap.ErrorsLog, both(failed(), sampled(bootstrap.ErrorsRuntime, bootstrap.AllErrors))),
	requestLog(bootstrap.TapLog, sampled(bootstrap.TapRuntime, 0)),
}

// attemptLogs is what every router writes of attempts: those that failed.
var attemptLogs = []*accesslogv3.AccessLog{
	requestLog(bootstrap.AttemptsLog, both(failed(), sampled(bootstrap.ErrorsRuntime, bootstrap.AllErrors))),
}

func requestLog(name string, filter *accesslogv3.AccessLogFilter) *accesslogv3.AccessLog {
	return &accesslogv3.AccessLog{
		Name: "envoy.access_loggers.http_grpc", Filter: filter,
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: envoy.Pack(&grpcv3.HttpGrpcAccessLogConfig{CommonConfig: &grpcv3.CommonGrpcAccessLogConfig{
			LogName: name, TransportApiVersion: corev3.ApiVersion_V3,
			GrpcService:         envoy.ByGRPC(naming.SidecarCluster),
			BufferFlushInterval: durationpb.New(flushEvery), BufferSizeBytes: wrapperspb.UInt32(mostBytes),
			CustomTags: []*tracingv3.CustomTag{
				{Tag: bootstrap.TableTag, Type: &tracingv3.CustomTag_Value{Value: "%CEL(xds.virtual_host_name)%"}},
				{Tag: bootstrap.SlotTag, Type: &tracingv3.CustomTag_Value{Value: "%METADATA(ROUTE:" + origin.MetadataKey + ":" + origin.SlotField + ")%"}},
				{Tag: bootstrap.OriginsTag, Type: &tracingv3.CustomTag_Metadata_{Metadata: &tracingv3.CustomTag_Metadata{
					Kind:        &metadatav3.MetadataKind{Kind: &metadatav3.MetadataKind_Route_{Route: &metadatav3.MetadataKind_Route{}}},
					MetadataKey: &metadatav3.MetadataKey{Key: origin.MetadataKey, Path: []*metadatav3.MetadataKey_PathSegment{{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: origin.OriginsField}}}},
				}}},
			},
		}})},
	}
}

// failed are requests whose answer says so, or which the sidecar ended by itself: refusals of permissions
// and of bodies that are too large carry no flag (spec/telemetry.md L7).
func failed() *accesslogv3.AccessLogFilter {
	any := []*accesslogv3.AccessLogFilter{
		{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{}}},
		answered(accesslogv3.ComparisonFilter_GE, 500),
	}
	for _, status := range []uint32{403, 408, 413} {
		any = append(any, answered(accesslogv3.ComparisonFilter_EQ, status))
	}
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_OrFilter{OrFilter: &accesslogv3.OrFilter{Filters: any}}}
}

// answered compares a status. Envoy wants a runtime key by which the number could be changed.
func answered(op accesslogv3.ComparisonFilter_Op, status uint32) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_StatusCodeFilter{StatusCodeFilter: &accesslogv3.StatusCodeFilter{
		Comparison: &accesslogv3.ComparisonFilter{Op: op, Value: &corev3.RuntimeUInt32{DefaultValue: status, RuntimeKey: "weft.errors_status_" + strconv.FormatUint(uint64(status), 10)}},
	}}}
}

// sampled are so many of a million as the runtime says. The request's id decides, so that a request has
// both its own line and those of its attempts, or none.
func sampled(key string, ppm uint32) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_RuntimeFilter{RuntimeFilter: &accesslogv3.RuntimeFilter{
		RuntimeKey: key, PercentSampled: &typev3.FractionalPercent{Numerator: ppm, Denominator: typev3.FractionalPercent_MILLION},
	}}}
}

func both(a, b *accesslogv3.AccessLogFilter) *accesslogv3.AccessLogFilter {
	return &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_AndFilter{AndFilter: &accesslogv3.AndFilter{Filters: []*accesslogv3.AccessLogFilter{a, b}}}}
}
