package telemetry

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Tracing is where spans go.
type Tracing struct {
	trace.Tracer
	// Exports is false where spans go nowhere, so that nothing need be made for them.
	Exports bool
	// Stop sends what is left.
	Stop func(context.Context) error
}

// Untraced sends spans nowhere.
func Untraced() Tracing {
	return Tracing{Tracer: noop.NewTracerProvider().Tracer("weft"), Stop: func(context.Context) error { return nil }}
}

// Exported reports whether the environment names a collector of traces, in the words of
// OpenTelemetry's specification of environment variables.
func exported() bool {
	if os.Getenv("OTEL_SDK_DISABLED") == "true" || os.Getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || os.Getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Trace sends spans to endpoint by OTLP over gRPC; where it is empty to the collector that
// the variables OTEL_* name, and nowhere where they name none. These say also how: TLS,
// headers, sampling, attributes. Plaintext is for an endpoint on this host.
func Trace(ctx context.Context, endpoint string, plaintext bool, version string) (Tracing, error) {
	var options []otlptracegrpc.Option
	switch {
	case endpoint != "":
		options = append(options, otlptracegrpc.WithEndpoint(endpoint))
		if plaintext {
			options = append(options, otlptracegrpc.WithInsecure())
		}
	case !exported():
		return Untraced(), nil
	}
	exporter, err := otlptracegrpc.New(ctx, options...)
	if err != nil {
		return Tracing{}, fmt.Errorf("--otlp-endpoint: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "weft"), attribute.String("service.version", version)),
		resource.WithFromEnv()) // the last one wins
	if err != nil {
		return Tracing{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w; write key=value,key=value", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return Tracing{Tracer: provider.Tracer("weft"), Exports: true, Stop: provider.Shutdown}, nil
}

// Incoming is a context within the trace that a request belongs to, by its header
// traceparent (W3C Trace Context); ctx itself where it names none.
func Incoming(ctx context.Context, h http.Header) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(h))
}
