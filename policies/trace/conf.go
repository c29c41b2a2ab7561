package trace

import (
	"net/url"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// Conf says which requests are traced, and where their spans go.
type Conf struct {
	// Backends is the tracer that spans go to, at most one. An empty list switches tracing off.
	Backends []Backend `json:"backends,omitzero" weft:"listener,backends"`
	// Sampling is how many requests are traced.
	Sampling *Sampling `json:"sampling,omitempty"`
	// Tags are what each span says beside what Envoy says.
	Tags []Tag `json:"tags,omitzero" weft:"route,tags"`
}

// Sampling is how many requests are traced, in percent.
type Sampling struct {
	// Overall bounds how many requests are traced, whatever the other fields say.
	Overall *policies.Percentage `json:"overall,omitempty" weft:"route,sampling"`
	// Client is how many of those requests are traced whose client asks for it by x-client-trace-id.
	Client *policies.Percentage `json:"client,omitempty" weft:"route,sampling"`
	// Random is how many of all requests are traced.
	Random *policies.Percentage `json:"random,omitempty" weft:"route,sampling"`
}

// Backend is a tracer.
type Backend struct {
	// Type says which block it has: Zipkin, Datadog or OpenTelemetry.
	Type string `json:"type" schema:"required,enum=Zipkin|Datadog|OpenTelemetry"`
	// Zipkin is one that takes spans of Zipkin.
	Zipkin *Zipkin `json:"zipkin,omitempty"`
	// Datadog is an agent of Datadog.
	Datadog *Datadog `json:"datadog,omitempty"`
	// OpenTelemetry is a collector that speaks OTLP over gRPC.
	OpenTelemetry *OpenTelemetry `json:"openTelemetry,omitempty"`
}

// Zipkin is a tracer that takes spans of Zipkin.
type Zipkin struct {
	// URL is where spans are posted to: http://zipkin.monitoring:9411/api/v2/spans.
	URL string `json:"url" schema:"required"`
	// TraceID128Bit makes the IDs of traces 128 bits long, else 64.
	TraceID128Bit bool `json:"traceId128bit,omitempty"`
	// APIVersion is the form of spans: httpJson, or httpProto.
	APIVersion string `json:"apiVersion,omitempty" schema:"enum=httpJson|httpProto"`
	// SharedSpanContext lets caller and called side share one span; true where it is left out.
	SharedSpanContext *bool `json:"sharedSpanContext,omitempty"`
}

// Datadog is an agent of Datadog.
type Datadog struct {
	// URL is where the agent listens, as http://datadog.monitoring:8126.
	URL string `json:"url" schema:"required"`
	// SplitService tells the names of services apart by direction and destination.
	SplitService bool `json:"splitService,omitempty"`
}

// OpenTelemetry is a collector.
type OpenTelemetry struct {
	// Endpoint is where it listens, as otel-collector.monitoring:4317: an older form of backendRef.
	Endpoint string `json:"endpoint,omitempty"`
	// BackendRef names a MeshOpenTelemetryBackend.
	BackendRef *policies.CollectorRef `json:"backendRef,omitempty"`
}

// Tag is one thing that each span says.
type Tag struct {
	// Name is that of the tag.
	Name string `json:"name" schema:"required"`
	// Literal is what it says, the same in each span.
	Literal string `json:"literal,omitempty"`
	// Header is a header of the request whose value it says.
	Header *Header `json:"header,omitempty"`
}

// Header is a header of a request.
type Header struct {
	// Name is that of the header.
	Name string `json:"name" schema:"required,is=headerName"`
	// Default is what the tag says where the request has no such header; without it there is no tag.
	Default string `json:"default,omitempty"`
}

// CollectorRefs yields the refs to collectors.
func (c *Conf) CollectorRefs(yield func(at api.Path, ref *policies.CollectorRef) bool) {
	policies.CollectorRefsOf(c.Backends, (*Backend).collectorRef, yield)
}

// CopyCollectorRefs is the conf with refs of its own.
func (c *Conf) CopyCollectorRefs() policies.Conf {
	out := *c
	out.Backends = policies.CopyCollectorRefsOf(c.Backends, (*Backend).collectorRef, func(b *Backend, ref *policies.CollectorRef) {
		own := *b.OpenTelemetry
		own.BackendRef, b.OpenTelemetry = ref, &own
	})
	return &out
}

// collectorRef is the ref of a backend to a collector; nil where it has none.
func (b *Backend) collectorRef() *policies.CollectorRef {
	if b.OpenTelemetry == nil {
		return nil
	}
	return b.OpenTelemetry.BackendRef
}

// tracer is where spans go; nil where they go nowhere.
func (c *Conf) tracer() *Backend {
	if len(c.Backends) == 0 {
		return nil
	}
	b := &c.Backends[0]
	if host, _ := b.address(); host == "" {
		return nil
	}
	return b
}

// address is where the tracer listens; no host where that is not known.
func (b *Backend) address() (host string, port uint32) {
	switch {
	case b.Zipkin != nil:
		return hostOf(b.Zipkin.URL)
	case b.Datadog != nil:
		return hostOf(b.Datadog.URL)
	case b.OpenTelemetry != nil:
		host, port, _ = policies.Collector(b.OpenTelemetry.endpoint(), b.OpenTelemetry.BackendRef)
	}
	return host, port
}

// endpoint is that of a collector; nil for none.
func (o *OpenTelemetry) endpoint() *string {
	if o.Endpoint == "" {
		return nil
	}
	return &o.Endpoint
}

// hostOf is the host and the port of an URL, of one without a port that of its scheme.
func hostOf(text string) (host string, port uint32) {
	u, err := url.Parse(text)
	if err != nil {
		return "", 0
	}
	if u.Port() == "" {
		if u.Scheme == "https" {
			return u.Hostname(), 443
		}
		return u.Hostname(), 80
	}
	return u.Hostname(), number(u.Port())
}

// number is a port; 0 for what is none.
func number(digits string) uint32 {
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil {
		return 0
	}
	return uint32(n)
}
