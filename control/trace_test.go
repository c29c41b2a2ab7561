package control_test

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
)

// sink collects the names of spans by trace.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu     sync.Mutex
	traces map[string]map[string]bool
	// version is that of the service which sends them.
	version string
	// said is everything that came, as text.
	said strings.Builder
}

// collect starts a collector of traces and yields its address.
func collect(t *testing.T) (*sink, string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sink{traces: map[string]map[string]bool{}}
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
				id := string(span.TraceId)
				if s.traces[id] == nil {
					s.traces[id] = map[string]bool{}
				}
				s.traces[id][span.Name] = true
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestAChangeIsOneTraceFromTheStoreToTheStreams(t *testing.T) {
	t.Parallel()
	s, address := collect(t)
	c := config(t)
	c.OTLPEndpoint, c.Version = address, "1.2.3"
	p := start(t, c)
	p.want(http.StatusOK, http.MethodPost, "/_apply", worldDocs)
	p.want(http.StatusOK, http.MethodGet, "/meshes/default/_status", "")
	p.stop() // which sends what is left
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version != "1.2.3" {
		t.Errorf("the traces are of version %q", s.version)
	}
	for _, names := range s.traces {
		if names["change"] && names["resolve"] && names["publish"] {
			return
		}
	}
	t.Errorf("traces are %v", s.traces)
}
