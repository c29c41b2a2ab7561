// Package telemetry is what a control plane says of itself to those who watch
// it: metrics, traces, trace ids in its log, and profiles.
//
// Labels of metrics are bounded: each has as many values as the program knows
// words for it (kinds, types, routes of the API, codes), and none is a name
// that users give. docs/metrics.md is generated from here.
package telemetry

//go:generate go run ../../hack/metricsdoc -to ../../docs/metrics.md

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics are those of one control plane. The optional ones are those that only
// some control planes have: methods register them.
type Metrics struct {
	Registry *prometheus.Registry

	Changes    *prometheus.CounterVec // by action
	Resolving  prometheus.Histogram
	Publishing prometheus.Histogram
	Affected   prometheus.Histogram
	Revision   prometheus.Gauge

	Streams     *prometheus.GaugeVec // by protocol
	Rendering   prometheus.Histogram
	Pushes      *prometheus.CounterVec   // by type
	PushBytes   *prometheus.CounterVec   // by type
	Acks        *prometheus.HistogramVec // by type
	Nacks       *prometheus.CounterVec   // by type
	Propagation prometheus.Histogram
	ChangeAcks  *prometheus.HistogramVec // by kind

	Writes   *prometheus.HistogramVec // by outcome
	Requests *prometheus.CounterVec   // by route and code
	Answers  *prometheus.HistogramVec // by route

	all []Metric
}

// Metric is what there is to know of one metric.
type Metric struct {
	Name, Type, Help string
	Labels           []string
	Where            string // which control planes have it; empty for all
}

// The values of labels that are there from the start, so that a rate begins at 0 and not with
// the first time.
var (
	pushTypes = []string{"cds", "eds", "sds", "lds", "rds"}
	actions   = []string{"created", "updated", "deleted"}
	// Outcomes are what becomes of a write: refused is the fault of who writes, failed that of
	// the store.
	Outcomes = []string{"stored", "unchanged", "refused", "failed"}
)

var (
	seconds = prometheus.ExponentialBuckets(0.0001, 3, 12) // 0.1 ms to 18 s
	coarse  = []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10}
)

// New are the metrics that every control plane has.
func New(version string) *Metrics {
	m := &Metrics{Registry: prometheus.NewRegistry()}
	m.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.gauges("", "weft_build_info", "1, with the version of this control plane.", "version").WithLabelValues(version).Set(1)

	m.Changes = m.counters("", "weft_changes_total", "Documents created, updated and deleted.", "action")
	begin(m.Changes, actions)
	m.Resolving = m.histogram("weft_resolve_seconds", "Time to resolve one set of changes.", seconds)
	m.Publishing = m.histogram("weft_publish_seconds", "Time to hand one revision to the streams.", seconds)
	m.Affected = m.histogram("weft_affected_dataplanes", "Dataplanes that one set of changes affects.", prometheus.ExponentialBuckets(1, 4, 9))
	m.Revision = m.gauges("", "weft_revision", "Revision that is resolved.").WithLabelValues()

	m.Streams = m.gauges("", "weft_streams", "Open ADS streams.", "protocol")
	m.Rendering = m.histogram("weft_render_seconds", "Time to make the resources of one sidecar, where something of them changed; what others have already is not made again.", seconds)
	m.Pushes = m.counters("", "weft_pushes_total", "Responses sent to sidecars.", "type")
	m.PushBytes = m.counters("", "weft_push_bytes_total", "Bytes sent to sidecars.", "type")
	m.Acks = m.histograms("weft_ack_seconds", "Time until a sidecar confirmed a response.", seconds, "type")
	m.Nacks = m.counters("", "weft_nacks_total", "Responses that sidecars refused.", "type")
	begin(m.Pushes, pushTypes)
	begin(m.PushBytes, pushTypes)
	begin(m.Nacks, pushTypes)
	m.Propagation = m.histogram("weft_propagation_seconds", "Time from a change until one sidecar, which was connected before, confirmed all of it.", seconds)
	m.ChangeAcks = m.histograms("weft_change_ack_seconds", "The same by the kinds of the documents that changed: each kind of a change counts.", seconds, "kind")

	m.Writes = m.histograms("weft_store_write_seconds", "Time of one write to the store, by what became of it.", coarse, "outcome")
	for _, o := range Outcomes {
		m.Writes.WithLabelValues(o)
	}
	m.Requests = m.counters("", "weft_api_requests_total", "Answers of the API, by the pattern of its path; refused are those that are answered before a path is looked for.", "route", "code")
	m.Answers = m.histograms("weft_api_request_seconds", "Time to answer a request of the API, without the stream of events.", coarse, "route")
	return m
}

// All are the metrics that there are so far, in the order of their definition.
func (m *Metrics) All() []Metric { return m.all }

func begin(c *prometheus.CounterVec, values []string) {
	for _, v := range values {
		c.WithLabelValues(v)
	}
}

func (m *Metrics) add(c prometheus.Collector, x Metric) {
	m.all = append(m.all, x)
	m.Registry.MustRegister(c)
}

func (m *Metrics) counters(where, name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.add(c, Metric{name, "counter", help, labels, where})
	return c
}

func (m *Metrics) gauges(where, name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	m.add(g, Metric{name, "gauge", help, labels, where})
	return g
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.add(h, Metric{name, "histogram", help, labels, ""})
	return h
}

func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	m.add(h, Metric{name, "histogram", help, nil, ""})
	return h
}
