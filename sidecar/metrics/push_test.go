package metrics_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/grpc"
)

// collector keeps what it is sent.
type collector struct {
	collectorv1.UnimplementedMetricsServiceServer

	mu    sync.Mutex
	who   []string
	named map[string]*metricsv1.Metric
	times map[string]int
}

func (c *collector) Export(_ context.Context, q *collectorv1.ExportMetricsServiceRequest) (*collectorv1.ExportMetricsServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range q.GetResourceMetrics() {
		c.who = texts(r.GetResource().GetAttributes())
		for _, s := range r.GetScopeMetrics() {
			for _, m := range s.GetMetrics() {
				c.named[m.GetName()] = m
				c.times[m.GetName()]++
			}
		}
	}
	return &collectorv1.ExportMetricsServiceResponse{}, nil
}

func texts(list []*commonv1.KeyValue) (out []string) {
	for _, a := range list {
		out = append(out, a.GetKey()+"="+a.GetValue().GetStringValue())
	}
	return out
}

func (c *collector) has(name string, times int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.times[name] >= times
}

// TestPush: a collector is sent the figures of Envoy and of applications, again and again, and none any more when no
// document names it.
func TestPush(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, g := &collector{named: map[string]*metricsv1.Metric{}, times: map[string]int{}}, grpc.NewServer()
	collectorv1.RegisterMetricsServiceServer(g, c)
	go func() { _ = g.Serve(l) }() // ends with Stop
	t.Cleanup(g.Stop)
	app := serve(t, text("# TYPE orders counter\norders{kind=\"a\"} 5\n# TYPE took histogram\ntook_bucket{le=\"1\"} 2\ntook_bucket{le=\"5\"} 6\ntook_bucket{le=\"+Inf\"} 7\ntook_sum 12.5\ntook_count 7\n"))
	s := start(t, fmt.Sprintf("{applications: [{name: app, port: %s}], backends: [{type: OpenTelemetry, openTelemetry: {endpoint: '%s', refreshInterval: 1s}}]}", app, l.Addr()))
	ctx, stop := context.WithCancel(t.Context())
	pushing := make(chan struct{})
	go func() { s.teller.Push(ctx); close(pushing) }()
	until := func(what string, holds func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !holds(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	until("the collector is not sent metrics", func() bool { return c.has("orders", 2) })
	c.mu.Lock()
	if want := []string{"service.name=web", "service.instance.id=web-1", "kuma.mesh=default"}; !slices.Equal(c.who, want) {
		t.Errorf("%q, want %q", c.who, want)
	}
	orders := c.named["orders"].GetSum()
	if p := orders.GetDataPoints(); !orders.GetIsMonotonic() || len(p) != 1 || p[0].GetAsDouble() != 5 || !slices.Contains(texts(p[0].GetAttributes()), "application=app") {
		t.Errorf("%v", orders)
	}
	if p := c.named["took"].GetHistogram().GetDataPoints(); len(p) != 1 || !slices.Equal(p[0].GetExplicitBounds(), []float64{1, 5}) || !slices.Equal(p[0].GetBucketCounts(), []uint64{2, 4, 1}) || p[0].GetSum() != 12.5 || p[0].GetCount() != 7 {
		t.Errorf("%v", p)
	}
	if c.named["envoy_cluster_membership_healthy"].GetGauge() == nil || c.named["envoy_server_live"] != nil {
		t.Errorf("%d figures, and not those of the profile", len(c.named))
	}
	c.mu.Unlock()
	s.tell("{backends: [{type: Prometheus, prometheus: {port: PORT}}]}")
	time.Sleep(100 * time.Millisecond) // what is under way
	c.mu.Lock()
	clear(c.times)
	c.mu.Unlock()
	time.Sleep(1500 * time.Millisecond) // longer than the interval
	if c.has("orders", 1) {
		t.Error("a collector is sent metrics that nobody names any more")
	}
	stop()
	<-pushing
}
