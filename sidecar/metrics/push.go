package metrics

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collectorv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	metricsv1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcev1 "go.opentelemetry.io/proto/otlp/resource/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weftmesh/weft/sidecar/attach"
)

// Bounds of what is sent to a collector.
const (
	exportWithin = 10 * time.Second
	largestBatch = 1 << 20 // of text: gRPC takes 4 MiB where nobody says otherwise
)

// Push sends metrics to collectors until ctx ends, as it is told to.
func (t *Teller) Push(ctx context.Context) {
	for ctx.Err() == nil {
		conf, changed := t.current()
		round, stop := context.WithCancel(ctx)
		var pushing sync.WaitGroup
		if conf != nil {
			for _, p := range conf.said.GetPushes() {
				pushing.Go(func() { t.keepPushing(round, conf, p) })
			}
		}
		select {
		case <-ctx.Done():
		case <-changed:
		}
		stop()
		pushing.Wait()
	}
}

// keepPushing sends metrics to one collector, the first time some time within the interval: sidecars that are told of
// it together do not send together.
func (t *Teller) keepPushing(ctx context.Context, conf *told, p *attach.Metrics_Push) {
	every := max(time.Duration(p.GetEveryMilliseconds())*time.Millisecond, time.Second)
	wait := rand.N(every)
	failed := "" // one line of the log for each cause
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = every
		err := t.pushOnce(ctx, conf, p)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			failed = ""
		case err.Error() != failed:
			failed = err.Error()
			t.source.Log.Warn("metrics cannot be sent to a collector", "host", p.GetHost(), "port", p.GetPort(), "error", err)
		}
	}
}

// pushOnce sends all metrics once.
func (t *Teller) pushOnce(ctx context.Context, conf *told, p *attach.Metrics_Push) error {
	conn, err := grpc.NewClient(net.JoinHostPort(p.GetHost(), strconv.FormatUint(uint64(p.GetPort()), 10)), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	b := &batch{ctx: ctx, to: collectorv1.NewMetricsServiceClient(conn), resource: resourceOf(conf.said), at: uint64(time.Now().UnixNano())}
	if err := t.gather(ctx, conf, b); err != nil {
		return err
	}
	return b.send()
}

// batch gathers families until there are enough to send.
type batch struct {
	ctx      context.Context
	to       collectorv1.MetricsServiceClient
	resource *resourcev1.Resource
	at       uint64
	size     int
	metrics  []*metricsv1.Metric
}

func (b *batch) take(f *family) error {
	var text bytes.Buffer
	if err := f.write(&text); err != nil {
		return err
	}
	b.size += text.Len()
	p := expfmt.NewTextParser(model.UTF8Validation)
	read, err := p.TextToMetricFamilies(&text)
	if err != nil {
		return fmt.Errorf("read the figures of %s: %w", f.name, err)
	}
	for _, mf := range read {
		b.metrics = append(b.metrics, metricOf(mf, b.at))
	}
	if b.size < largestBatch {
		return nil
	}
	return b.send()
}

func (b *batch) send() error {
	if len(b.metrics) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(b.ctx, exportWithin)
	defer cancel()
	resp, err := b.to.Export(ctx, &collectorv1.ExportMetricsServiceRequest{ResourceMetrics: []*metricsv1.ResourceMetrics{{
		Resource: b.resource, ScopeMetrics: []*metricsv1.ScopeMetrics{{Scope: &commonv1.InstrumentationScope{Name: "weft"}, Metrics: b.metrics}},
	}}})
	b.metrics, b.size = nil, 0
	if err != nil {
		return err
	}
	if n := resp.GetPartialSuccess().GetRejectedDataPoints(); n > 0 {
		return fmt.Errorf("the collector refuses %d figures: %.256q", n, resp.GetPartialSuccess().GetErrorMessage())
	}
	return nil
}

// resourceOf is who sends.
func resourceOf(m *attach.Metrics) *resourcev1.Resource {
	out := &resourcev1.Resource{}
	for _, x := range []label{{"service.name", m.GetService()}, {"service.instance.id", m.GetDataplane()}, {"kuma.mesh", m.GetMesh()}, {"kuma.workload", m.GetWorkload()}} {
		if x.value != "" {
			out.Attributes = append(out.Attributes, attribute(x.name, x.value))
		}
	}
	return out
}

func attribute(name, value string) *commonv1.KeyValue {
	return &commonv1.KeyValue{Key: name, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: value}}}
}

// metricOf is a family as OTLP has it.
func metricOf(mf *dto.MetricFamily, at uint64) *metricsv1.Metric {
	out := &metricsv1.Metric{Name: mf.GetName(), Description: mf.GetHelp()}
	switch mf.GetType() {
	case dto.MetricType_COUNTER:
		sum := &metricsv1.Sum{AggregationTemporality: metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE, IsMonotonic: true}
		for _, m := range mf.GetMetric() {
			sum.DataPoints = append(sum.DataPoints, number(m, m.GetCounter().GetValue(), at))
		}
		out.Data = &metricsv1.Metric_Sum{Sum: sum}
	case dto.MetricType_HISTOGRAM:
		h := &metricsv1.Histogram{AggregationTemporality: metricsv1.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE}
		for _, m := range mf.GetMetric() {
			h.DataPoints = append(h.DataPoints, histogram(m, at))
		}
		out.Data = &metricsv1.Metric_Histogram{Histogram: h}
	case dto.MetricType_SUMMARY:
		s := &metricsv1.Summary{}
		for _, m := range mf.GetMetric() {
			s.DataPoints = append(s.DataPoints, summary(m, at))
		}
		out.Data = &metricsv1.Metric_Summary{Summary: s}
	default:
		g := &metricsv1.Gauge{}
		for _, m := range mf.GetMetric() {
			value := m.GetGauge().GetValue()
			if m.Untyped != nil {
				value = m.GetUntyped().GetValue()
			}
			g.DataPoints = append(g.DataPoints, number(m, value, at))
		}
		out.Data = &metricsv1.Metric_Gauge{Gauge: g}
	}
	return out
}

func attributes(m *dto.Metric) (out []*commonv1.KeyValue) {
	for _, p := range m.GetLabel() {
		out = append(out, attribute(p.GetName(), p.GetValue()))
	}
	return out
}

func number(m *dto.Metric, value float64, at uint64) *metricsv1.NumberDataPoint {
	return &metricsv1.NumberDataPoint{Attributes: attributes(m), TimeUnixNano: at, Value: &metricsv1.NumberDataPoint_AsDouble{AsDouble: value}}
}

// histogram has counts by bucket, where Prometheus has sums of all buckets below.
func histogram(m *dto.Metric, at uint64) *metricsv1.HistogramDataPoint {
	h := m.GetHistogram()
	out := &metricsv1.HistogramDataPoint{Attributes: attributes(m), TimeUnixNano: at, Count: h.GetSampleCount(), Sum: new(h.GetSampleSum())}
	below := uint64(0)
	for _, b := range h.GetBucket() {
		if bound := b.GetUpperBound(); !math.IsInf(bound, 1) {
			out.ExplicitBounds = append(out.ExplicitBounds, bound)
			out.BucketCounts = append(out.BucketCounts, b.GetCumulativeCount()-min(below, b.GetCumulativeCount()))
			below = b.GetCumulativeCount()
		}
	}
	out.BucketCounts = append(out.BucketCounts, h.GetSampleCount()-min(below, h.GetSampleCount()))
	return out
}

func summary(m *dto.Metric, at uint64) *metricsv1.SummaryDataPoint {
	s := m.GetSummary()
	out := &metricsv1.SummaryDataPoint{Attributes: attributes(m), TimeUnixNano: at, Count: s.GetSampleCount(), Sum: s.GetSampleSum()}
	for _, q := range s.GetQuantile() {
		out.QuantileValues = append(out.QuantileValues, &metricsv1.SummaryDataPoint_ValueAtQuantile{Quantile: q.GetQuantile(), Value: q.GetValue()})
	}
	return out
}
