package telemetry

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"go.opentelemetry.io/collector/component"
	"go.opentelemetry.io/collector/confmap"
	"go.opentelemetry.io/collector/confmap/provider/yamlprovider"
	"go.opentelemetry.io/collector/exporter"
	"go.opentelemetry.io/collector/exporter/exporterhelper"
	"go.opentelemetry.io/collector/otelcol"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/receiver"
	"go.opentelemetry.io/collector/receiver/otlpreceiver"
	"go.opentelemetry.io/collector/service/telemetry/otelconftelemetry"
)

// collected is what a collector has got. It is an exporter that keeps everything.
type collected struct {
	mu      sync.Mutex
	logs    []string            // bodies, with the attributes of their resources
	spans   []span              // of all traces
	metrics map[string][]string // attributes of the resources that tell them, by name
}

// span is one of a trace.
type span struct {
	trace, id, parent, service string
	kind                       ptrace.SpanKind
	attributes                 map[string]string
}

func texts(m pcommon.Map) map[string]string {
	out := map[string]string{}
	for k, v := range m.All() {
		out[k] = v.AsString()
	}
	return out
}

func (c *collected) takeLogs(_ context.Context, all plog.Logs) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all.ResourceLogs().All() {
		for _, s := range r.ScopeLogs().All() {
			for _, l := range s.LogRecords().All() {
				c.logs = append(c.logs, fmt.Sprintf("%s mesh=%s code=%s", l.Body().AsString(), texts(r.Resource().Attributes())["kuma.mesh"], texts(l.Attributes())["code"]))
			}
		}
	}
	return nil
}

func (c *collected) takeTraces(_ context.Context, all ptrace.Traces) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all.ResourceSpans().All() {
		for _, s := range r.ScopeSpans().All() {
			for _, x := range s.Spans().All() {
				c.spans = append(c.spans, span{x.TraceID().String(), x.SpanID().String(), x.ParentSpanID().String(), texts(r.Resource().Attributes())["service.name"], x.Kind(), texts(x.Attributes())})
			}
		}
	}
	return nil
}

func (c *collected) takeMetrics(_ context.Context, all pmetric.Metrics) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range all.ResourceMetrics().All() {
		about := texts(r.Resource().Attributes())
		for _, s := range r.ScopeMetrics().All() {
			for _, m := range s.Metrics().All() {
				c.metrics[m.Name()] = append(c.metrics[m.Name()], about["service.instance.id"])
			}
		}
	}
	return nil
}

// has reports whether a log came.
func (c *collected) has(log string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.logs, log)
}

// spansOf are the spans whose tag has a value.
func (c *collected) spansOf(tag, value string) (out []span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.spans {
		if s.attributes[tag] == value {
			out = append(out, s)
		}
	}
	return out
}

// tells reports whether a dataplane tells a metric.
func (c *collected) tells(metric, dataplane string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.metrics[metric], dataplane)
}

// kept is the component by which a collector hands everything to c.
func (c *collected) kept() exporter.Factory {
	empty := func() component.Config { return &struct{}{} }
	return exporter.NewFactory(component.MustNewType("kept"), empty,
		exporter.WithLogs(func(ctx context.Context, s exporter.Settings, conf component.Config) (exporter.Logs, error) {
			return exporterhelper.NewLogs(ctx, s, conf, c.takeLogs)
		}, component.StabilityLevelStable),
		exporter.WithTraces(func(ctx context.Context, s exporter.Settings, conf component.Config) (exporter.Traces, error) {
			return exporterhelper.NewTraces(ctx, s, conf, c.takeTraces)
		}, component.StabilityLevelStable),
		exporter.WithMetrics(func(ctx context.Context, s exporter.Settings, conf component.Config) (exporter.Metrics, error) {
			return exporterhelper.NewMetrics(ctx, s, conf, c.takeMetrics)
		}, component.StabilityLevelStable))
}

// startCollector runs a collector of OpenTelemetry that takes OTLP over gRPC at a port of loopback.
func startCollector(t *testing.T, port int) *collected {
	t.Helper()
	c := &collected{metrics: map[string][]string{}}
	factories := func() (otelcol.Factories, error) {
		receivers, err := otelcol.MakeFactoryMap[receiver.Factory](otlpreceiver.NewFactory())
		if err != nil {
			return otelcol.Factories{}, err
		}
		exporters, err := otelcol.MakeFactoryMap[exporter.Factory](c.kept())
		return otelcol.Factories{Receivers: receivers, Exporters: exporters, Telemetry: otelconftelemetry.NewFactory()}, err
	}
	conf := fmt.Sprintf(`yaml:
receivers: {otlp: {protocols: {grpc: {endpoint: "127.0.0.1:%d"}}}}
exporters: {kept: {}}
service:
  telemetry: {metrics: {level: none}, logs: {level: warn}}
  pipelines: {logs: {receivers: [otlp], exporters: [kept]}, traces: {receivers: [otlp], exporters: [kept]}, metrics: {receivers: [otlp], exporters: [kept]}}
`, port)
	program, err := otelcol.NewCollector(otelcol.CollectorSettings{
		Factories: factories, BuildInfo: component.NewDefaultBuildInfo(), DisableGracefulShutdown: true,
		ConfigProviderSettings: otelcol.ConfigProviderSettings{ResolverSettings: confmap.ResolverSettings{
			URIs: []string{conf}, ProviderFactories: []confmap.ProviderFactory{yamlprovider.NewFactory()},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- program.Run(context.Background()) }()
	t.Cleanup(func() {
		program.Shutdown()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}
