package healthcheck

import (
	"encoding/hex"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	sinkv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/health_check/event_sinks/file/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
)

// WriteCluster has the endpoints checked.
func (c *Conf) WriteCluster(cluster *clusterv3.Cluster, options *upstreamhttpv3.HttpProtocolOptions, at envoy.Place) {
	w, _ := c.way(at.Protocol)
	if w == unchecked {
		return
	}
	out := &corev3.HealthCheck{
		Interval: orBuiltIn(c.Interval, interval), Timeout: orBuiltIn(c.Timeout, timeout),
		UnhealthyThreshold: count(c.UnhealthyThreshold, unhealthy), HealthyThreshold: count(c.HealthyThreshold, healthy),
		InitialJitter: envoy.Duration(c.InitialJitter), IntervalJitter: envoy.Duration(c.IntervalJitter), NoTrafficInterval: envoy.Duration(c.NoTrafficInterval),
		AlwaysLogHealthCheckFailures: isTrue(c.AlwaysLogHealthCheckFailures),
	}
	if c.IntervalJitterPercent != nil {
		out.IntervalJitterPercent = uint32(*c.IntervalJitterPercent)
	}
	if c.ReuseConnection != nil {
		out.ReuseConnection = wrapperspb.Bool(*c.ReuseConnection)
	}
	if p := c.EventLogPath; p != nil {
		out.EventLogger = []*corev3.TypedExtensionConfig{{
			Name: "envoy.health_check.event_sinks.file", TypedConfig: envoy.Pack(&sinkv3.HealthCheckEventFileSink{EventLogPath: *p}),
		}}
	}
	switch w {
	case byHTTP:
		out.HealthChecker = c.HTTP.checker(options, at)
	case byTCP:
		out.HealthChecker = c.TCP.checker()
	case byGRPC:
		out.HealthChecker = c.GRPC.checker(at)
	}
	cluster.HealthChecks = []*corev3.HealthCheck{out}
	// Else who is taken away keeps its share for as long as it passes (spec/kinds.md F13).
	cluster.IgnoreHealthOnHostRemoval = true
}

// Lb is what becomes of requests where too few endpoints are well.
func (c *Conf) Lb(envoy.Place) envoy.Lb {
	return envoy.Lb{
		OlderPanic: envoy.Percent(c.HealthyPanicThreshold), OlderField: "healthyPanicThreshold", FailOnPanic: c.FailTrafficOnPanic, FailField: "failTrafficOnPanic",
	}
}

// checker asks in the way in which the service is spoken to: it may be HTTP/1 by its protocol, and called in
// HTTP/2 all the same, as between sidecars.
func (h *HTTP) checker(options *upstreamhttpv3.HttpProtocolOptions, at envoy.Place) *corev3.HealthCheck_HttpHealthCheck_ {
	out := &corev3.HealthCheck_HttpHealthCheck{Host: at.Host, Path: path}
	if h.Path != nil {
		out.Path = *h.Path
	}
	if options.GetExplicitHttpConfig().GetHttp2ProtocolOptions() != nil {
		out.CodecClientType = typev3.CodecClientType_HTTP2
	}
	for _, s := range h.ExpectedStatuses {
		out.ExpectedStatuses = append(out.ExpectedStatuses, &typev3.Int64Range{Start: int64(s), End: int64(s) + 1})
	}
	if r := h.RequestHeadersToAdd; r != nil {
		out.RequestHeadersToAdd = append(headerOptions(r.Set, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD), headerOptions(r.Add, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD)...)
	}
	return &corev3.HealthCheck_HttpHealthCheck_{HttpHealthCheck: out}
}

func headerOptions(list []route.Header, action corev3.HeaderValueOption_HeaderAppendAction) (out []*corev3.HeaderValueOption) {
	for _, h := range list {
		out = append(out, envoy.HeaderOption(h, action))
	}
	return out
}

func (t *TCP) checker() *corev3.HealthCheck_TcpHealthCheck_ {
	out := &corev3.HealthCheck_TcpHealthCheck{}
	if t.Send != nil {
		out.Send = payloadOf(*t.Send)
	}
	for _, r := range t.Receive {
		out.Receive = append(out.Receive, payloadOf(r))
	}
	return &corev3.HealthCheck_TcpHealthCheck_{TcpHealthCheck: out}
}

func payloadOf(s string) *corev3.HealthCheck_Payload {
	return &corev3.HealthCheck_Payload{Payload: &corev3.HealthCheck_Payload_Text{Text: hex.EncodeToString([]byte(s))}}
}

func (g *GRPC) checker(at envoy.Place) *corev3.HealthCheck_GrpcHealthCheck_ {
	out := &corev3.HealthCheck_GrpcHealthCheck{Authority: at.Host}
	if g.ServiceName != nil {
		out.ServiceName = *g.ServiceName
	}
	if g.Authority != nil {
		out.Authority = *g.Authority
	}
	return &corev3.HealthCheck_GrpcHealthCheck_{GrpcHealthCheck: out}
}

func orBuiltIn(d *api.Duration, builtIn time.Duration) *durationpb.Duration {
	if d == nil {
		return durationpb.New(builtIn)
	}
	return envoy.Duration(d)
}

func count(n *int32, builtIn uint32) *wrapperspb.UInt32Value {
	if n == nil {
		return wrapperspb.UInt32(builtIn)
	}
	return wrapperspb.UInt32(uint32(*n))
}
