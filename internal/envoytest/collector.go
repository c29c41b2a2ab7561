package envoytest

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	logsv1 "go.opentelemetry.io/proto/otlp/logs/v1"
	"google.golang.org/grpc"
)

// Collector is a collector of OpenTelemetry that keeps the log records which it gets.
type Collector struct {
	collectorv1.UnimplementedLogsServiceServer
	Address string // host:port

	mu        sync.Mutex
	records   []*logsv1.LogRecord
	resources []map[string]string
}

// StartCollector serves on loopback until the test ends.
func StartCollector(t testing.TB) *Collector {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, s := &Collector{Address: l.Addr().String()}, grpc.NewServer()
	collectorv1.RegisterLogsServiceServer(s, c)
	go func() { _ = s.Serve(l) }() // it ends when the test does
	t.Cleanup(s.Stop)
	return c
}

// Export takes records.
func (c *Collector) Export(_ context.Context, q *collectorv1.ExportLogsServiceRequest) (*collectorv1.ExportLogsServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range q.ResourceLogs {
		attributes := map[string]string{}
		for _, a := range r.GetResource().GetAttributes() {
			attributes[a.Key] = a.Value.GetStringValue()
		}
		for _, s := range r.ScopeLogs {
			c.records = append(c.records, s.LogRecords...)
			for range s.LogRecords {
				c.resources = append(c.resources, attributes)
			}
		}
	}
	return &collectorv1.ExportLogsServiceResponse{}, nil
}

// Bodies are the texts of the records so far.
func (c *Collector) Bodies() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]string, len(c.records))
	for i, r := range c.records {
		out[i] = r.GetBody().GetStringValue()
	}
	return out
}

// Record is the first record with a body, and the attributes of its resource; nil where none has come.
func (c *Collector) Record(body string) (*logsv1.LogRecord, map[string]string) {
	i := slices.Index(c.Bodies(), body)
	if i < 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.records[i], c.resources[i]
}
