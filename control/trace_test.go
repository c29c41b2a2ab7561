package control_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weftmesh/weft/control/telemetry"
)

// sink collects spans by trace.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu     sync.Mutex
	traces map[string][]*tracepb.Span
	// version is that of the service which sends them.
	version string
	// said is everything that came, as text.
	said strings.Builder
}

// names are those of the spans of a trace, each under the name of its parent.
func (s *sink) names(trace string) map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	byID := map[string]string{}
	for _, span := range s.traces[trace] {
		byID[string(span.SpanId)] = span.Name
	}
	out := map[string]string{}
	for _, span := range s.traces[trace] {
		out[span.Name] = byID[string(span.ParentSpanId)]
	}
	return out
}

// named are all spans of a name.
func (s *sink) named(name string) (out []*tracepb.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spans := range s.traces {
		for _, span := range spans {
			if span.Name == name {
				out = append(out, span)
			}
		}
	}
	return out
}

// collect starts a collector of traces and yields its address.
func collect(t *testing.T) (*sink, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{traces: map[string][]*tracepb.Span{}}
	g := grpc.NewServer()
	collector.RegisterTraceServiceServer(g, s)
	go func() { _ = g.Serve(l) }()
	t.Cleanup(g.Stop)
	return s, l.Addr().String()
}

// text is everything that came.
func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.WriteString(prototext.Format(r))
	for _, resource := range r.ResourceSpans {
		for _, a := range resource.GetResource().GetAttributes() {
			if a.Key == "service.version" {
				s.version = a.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				id := hex.EncodeToString(span.TraceId)
				s.traces[id] = append(s.traces[id], span)
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// TestAChangeIsOneTraceFromTheRequestToTheSidecar: the trace of a client goes on through the
// store, resolving and publishing to what a real Envoy confirmed, and each step of a sidecar
// leads to the stream that it went over. The log has the same ids.
func TestAChangeIsOneTraceFromTheRequestToTheSidecar(t *testing.T) {
	t.Parallel()
	s, address := collect(t)
	c := config(t)
	c.OTLPEndpoint, c.Version = address, "1.2.3"
	var log journal
	p := startLogging(t, c, slog.New(slog.NewTextHandler(&log, nil)))
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	p.runs("frontend-1")
	const client, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	r, err := http.NewRequest(http.MethodPut, "http://"+p.API()+"/meshes/default/meshretries/traced",
		strings.NewReader(`{"type":"MeshRetry","mesh":"default","name":"traced","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"numRetries":7}}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Traceparent", "00-"+client+"-"+parent+"-01")
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		t.Fatalf("the document is answered %d", resp.StatusCode)
	}
	revision := p.Snapshot().Revision()
	eventually(t, "the change is acknowledged", func() bool {
		text := p.want(http.StatusOK, http.MethodGet, "/metrics", "")
		return strings.Contains(text, "\nweft_change_ack_seconds_count{kind=\"MeshRetry\"} 1\n")
	})
	text := p.want(http.StatusOK, http.MethodGet, "/metrics", "")
	for _, m := range telemetry.Everything() {
		if m.Where == "" && !strings.Contains(text, "\n# TYPE "+m.Name+" "+m.Type+"\n") {
			t.Errorf("docs/metrics.md has %s, and a running control plane does not", m.Name)
		}
	}
	p.stop() // which sends what is left
	const route = "PUT /meshes/{mesh}/{plural}/{name}"
	want := map[string]string{route: "", "store": route, "change": "store", "resolve": "change", "publish": "change", "render": "change", "push": "change", "acknowledge": "change"}
	if got := s.names(client); !maps.Equal(got, want) {
		t.Errorf("spans and their parents are %v, want %v", got, want)
	}
	streams := map[string]bool{}
	for _, span := range s.named("connect") {
		streams[string(span.SpanId)] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.traces[client] {
		switch span.Name {
		case route:
			if hex.EncodeToString(span.ParentSpanId) != parent {
				t.Errorf("the request is no child of the client's span: %v", span)
			}
		case "render", "push", "acknowledge":
			if len(span.Links) != 1 || !streams[string(span.Links[0].SpanId)] {
				t.Errorf("%s leads to no stream: %v", span.Name, span)
			}
		}
		if span.EndTimeUnixNano < span.StartTimeUnixNano {
			t.Errorf("%s ends before it begins", span.Name)
		}
	}
	if s.version != "1.2.3" {
		t.Errorf("the traces are of version %q", s.version)
	}
	if line := fmt.Sprintf("msg=changed revision=%d", revision); !strings.Contains(log.String(), line) || !strings.Contains(log.String(), "trace_id="+client) {
		t.Errorf("the log has no line %q with the trace %s:\n%s", line, client, log.String())
	}
}

// TestAStormLosesNoTrace: of changes that come faster than they are published each trace ends
// with a publication, or leads to the one that it became a part of.
func TestAStormLosesNoTrace(t *testing.T) {
	t.Parallel()
	s, address := collect(t)
	c := config(t)
	c.OTLPEndpoint = address
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	const changes = 50
	for i := range changes {
		p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(
			`{"type":"MeshTimeout","mesh":"default","name":"storm","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"connectionTimeout":"%ds"}}]}}`, i+1))
	}
	last := p.Snapshot().Revision()
	eventually(t, "everything is published", func() bool { done, ok := p.Published(); return ok && done >= last })
	p.stop()
	whole := 0
	for _, request := range s.named("POST /_apply") {
		names := s.names(hex.EncodeToString(request.TraceId))
		_, published := names["publish"]
		_, passed := names["superseded"]
		if published == passed {
			t.Errorf("a trace has neither a publication nor what came instead, or both: %v", names)
		}
		whole++
	}
	if whole != changes+1 {
		t.Errorf("%d requests are traced, want %d", whole, changes+1)
	}
}
