package trace

import (
	"cmp"
	"net/url"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tagv3 "github.com/envoyproxy/go-control-plane/envoy/type/tracing/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// WriteManager names the tracer. It samples nothing by itself: what no route is for, which the proxy
// answers alone, is not traced.
func (c *Conf) WriteManager(m *hcmv3.HttpConnectionManager, at envoy.Place) {
	b := c.tracer()
	if b == nil || !at.Protocol.HTTPLike() {
		return
	}
	m.Tracing = &hcmv3.HttpConnectionManager_Tracing{
		ClientSampling: &typev3.Percent{}, RandomSampling: &typev3.Percent{}, OverallSampling: &typev3.Percent{},
		Provider: b.provider(at),
	}
	if at.Edge { // where a trace begins, and a call of its own follows
		m.Tracing.SpawnUpstreamSpan = wrapperspb.Bool(true)
	}
}

// WriteRoute says which of the requests of a route are traced. It stands in the place of all that the
// connection manager says (spec/kinds.md 0.3), so that all of it is written.
func (c *Conf) WriteRoute(r *routev3.Route, at envoy.Place) {
	if c.tracer() == nil || !at.Protocol.HTTPLike() {
		return
	}
	s := c.Sampling
	if s == nil {
		s = new(Sampling)
	}
	r.Tracing = &routev3.Tracing{
		ClientSampling: fraction(s.Client), RandomSampling: fraction(s.Random), OverallSampling: fraction(s.Overall),
	}
	for i := range c.Tags {
		r.Tracing.CustomTags = append(r.Tracing.CustomTags, c.Tags[i].custom())
	}
}

// Clusters is that of the tracer.
func (c *Conf) Clusters(at envoy.Place) []envoy.OwnCluster {
	b := c.tracer()
	if b == nil || !at.Protocol.HTTPLike() {
		return nil
	}
	return []envoy.OwnCluster{b.cluster()}
}

// NamesService reports whether the tracer is told whose spans it gets.
func (c *Conf) NamesService() bool {
	b := c.tracer()
	return b != nil && b.Zipkin == nil // to which Envoy says the cluster of its node
}

// fraction is a percentage as Envoy counts it; all where it is nil.
func fraction(p *policies.Percentage) *typev3.FractionalPercent {
	return envoy.Fraction(cmp.Or(p, new(policies.Percentage("100"))))
}

// custom is the tag as Envoy has it.
func (t *Tag) custom() *tagv3.CustomTag {
	out := &tagv3.CustomTag{Tag: t.Name}
	if t.Header != nil {
		out.Type = &tagv3.CustomTag_RequestHeader{RequestHeader: &tagv3.CustomTag_Header{Name: t.Header.Name, DefaultValue: t.Header.Default}}
	} else {
		out.Type = &tagv3.CustomTag_Literal_{Literal: &tagv3.CustomTag_Literal{Value: t.Literal}}
	}
	return out
}

// cluster is that of the tracer.
func (b *Backend) cluster() envoy.OwnCluster {
	host, port := b.address()
	out := envoy.OwnCluster{Host: host, Port: port, Field: "backends"}
	switch {
	case b.Zipkin != nil:
		u, _ := url.Parse(b.Zipkin.URL) // which address has read
		out.Use, out.TLS = "zipkin", u.Scheme == "https"
	case b.Datadog != nil:
		out.Use = "datadog"
	default:
		out.Use, out.HTTP2 = "otel", true
	}
	return out
}

// provider is the tracer as Envoy has it.
func (b *Backend) provider(at envoy.Place) *tracev3.Tracing_Http {
	switch {
	case b.Zipkin != nil:
		return tracing("envoy.tracers.zipkin", b.Zipkin.config(b.cluster().Name()))
	case b.Datadog != nil:
		return tracing("envoy.tracers.datadog", &tracev3.DatadogConfig{CollectorCluster: b.cluster().Name(), ServiceName: b.Datadog.service(at)})
	}
	return tracing("envoy.tracers.opentelemetry", &tracev3.OpenTelemetryConfig{
		ServiceName: at.Service,
		GrpcService: envoy.ByGRPC(b.cluster().Name()),
	})
}

func tracing(name string, config proto.Message) *tracev3.Tracing_Http {
	return &tracev3.Tracing_Http{Name: name, ConfigType: &tracev3.Tracing_Http_TypedConfig{TypedConfig: envoy.Pack(config)}}
}

func (z *Zipkin) config(cluster string) *tracev3.ZipkinConfig {
	u, _ := url.Parse(z.URL)
	out := &tracev3.ZipkinConfig{
		CollectorCluster: cluster, CollectorEndpoint: u.RequestURI(), CollectorHostname: u.Host,
		TraceId_128Bit: z.TraceID128Bit, CollectorEndpointVersion: tracev3.ZipkinConfig_HTTP_JSON,
	}
	if z.APIVersion == httpProto {
		out.CollectorEndpointVersion = tracev3.ZipkinConfig_HTTP_PROTO
	}
	if z.SharedSpanContext != nil {
		out.SharedSpanContext = wrapperspb.Bool(*z.SharedSpanContext)
	}
	return out
}

// service is the name by which the agent knows the spans of a place.
func (d *Datadog) service(at envoy.Place) string {
	service := cmp.Or(at.Service, "envoy") // the agent wants a name
	switch {
	case !d.SplitService:
		return service
	case at.Inbound:
		return service + "_INBOUND"
	case at.Destination == "":
		return service + "_OUTBOUND"
	}
	return service + "_OUTBOUND_" + at.Destination
}
