package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weftmesh/weft/control/telemetry"
)

// sink is a collector of traces.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu   sync.Mutex
	said strings.Builder
}

// Export keeps what comes.
func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.WriteString(prototext.Format(r))
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestVariablesOfOpenTelemetry: without a flag the environment says where traces go and who
// sends them; nothing is sent where it says nothing, or not to.
func TestVariablesOfOpenTelemetry(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, g := &sink{}, grpc.NewServer()
	collector.RegisterTraceServiceServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	trace := func() telemetry.Tracing {
		t.Helper()
		tracing, err := telemetry.Trace(t.Context(), "", false, "1.2.3")
		if err != nil {
			t.Fatal(err)
		}
		_, span := tracing.Start(t.Context(), "one")
		span.End()
		if err := tracing.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		return tracing
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	if trace().Exports {
		t.Error("traces go somewhere without an address")
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
	t.Setenv("OTEL_SERVICE_NAME", "weft-of-the-shop")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
	if !trace().Exports {
		t.Error("traces go nowhere")
	}
	for _, want := range []string{`"one"`, "weft-of-the-shop", "deployment.environment.name", "1.2.3"} {
		if !strings.Contains(s.said.String(), want) {
			t.Errorf("nobody heard %s: %s", want, s.said.String())
		}
	}
	t.Setenv("OTEL_SDK_DISABLED", "true")
	if trace().Exports {
		t.Error("traces go out although the environment turns them off")
	}
}

// TestLogsNameTheTrace: a line within a trace has its ids, also one of a logger with
// attributes and groups; others have none.
func TestLogsNameTheTrace(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := telemetry.Logs(slog.New(slog.NewTextHandler(&out, nil))).With("a", 1)
	log.Info("outside")
	if strings.Contains(out.String(), "trace_id") {
		t.Errorf("%s", out.String())
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	ctx := telemetry.Incoming(t.Context(), http.Header{"Traceparent": {"00-" + id + "-b7ad6b7169203331-01"}})
	log.InfoContext(ctx, "inside")
	if !strings.Contains(out.String(), "msg=inside a=1 trace_id="+id+" span_id=b7ad6b7169203331") {
		t.Errorf("%s", out.String())
	}
	if telemetry.Incoming(t.Context(), http.Header{"Traceparent": {"nonsense"}}) != t.Context() {
		t.Error("nonsense became a trace")
	}
}

// TestLabelsAreBounded: no label of a metric is made for what users name.
func TestLabelsAreBounded(t *testing.T) {
	t.Parallel()
	known := []string{"version", "action", "protocol", "type", "kind", "outcome", "route", "code", "state", "verdict", "webhook"}
	for _, m := range telemetry.Everything() {
		if m.Help == "" || !strings.HasPrefix(m.Name, "weft_") || m.Type == "counter" && !strings.HasSuffix(m.Name, "_total") {
			t.Errorf("%+v is not named or told of as metrics are", m)
		}
		for _, l := range m.Labels {
			found := false
			for _, k := range known {
				found = found || k == l
			}
			if !found {
				t.Errorf("%s has a label %s: say here that its values are few, or leave it out", m.Name, l)
			}
		}
	}
}
