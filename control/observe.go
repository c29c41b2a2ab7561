package control

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/server"
)

// observer makes metrics, traces and events of the four moments of a change:
// received, resolved, pushed, acknowledged. Labels are bounded: no name of a
// document or dataplane is one.
type observer struct {
	registry *prometheus.Registry
	tracer   trace.Tracer
	events   *web.Events
	authors  authors

	changes     *prometheus.CounterVec
	resolving   prometheus.Histogram
	publishing  prometheus.Histogram
	reach       prometheus.Histogram
	revision    prometheus.Gauge
	streams     *prometheus.GaugeVec
	pushes      *prometheus.CounterVec
	pushBytes   *prometheus.CounterVec
	acks        *prometheus.HistogramVec
	nacks       *prometheus.CounterVec
	propagation prometheus.Histogram

	onJoin, onLeave func(server.Peer) // set before the first stream
	onStir          func(api.Ref)     // likewise; nil tells nobody

	stirred atomic.Uint64 // how often sidecars came, went, followed or refused

	mu     sync.Mutex
	recent [remembered]moment // by revision modulo its length
}

// moment is when a revision was received, and its trace.
type moment struct {
	revision uint64
	at       time.Time
	span     trace.SpanContext
	spans    int // acknowledgements traced
}

const (
	remembered    = 256 // revisions of which acknowledgements can be timed
	tracedReplies = 32  // acknowledgements traced for each revision
)

var seconds = prometheus.ExponentialBuckets(0.0001, 3, 12) // 0.1 ms to 18 s

func newObserver(tracer trace.Tracer, events *web.Events) *observer {
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	o := &observer{
		registry: prometheus.NewRegistry(), tracer: tracer, events: events,
		changes:     counter("weft_changes_total", "Documents created, updated and deleted.", "action"),
		resolving:   histogram("weft_resolve_seconds", "Time to resolve one set of changes.", seconds),
		publishing:  histogram("weft_publish_seconds", "Time to hand one revision to the streams.", seconds),
		reach:       histogram("weft_affected_dataplanes", "Dataplanes that one set of changes affects.", prometheus.ExponentialBuckets(1, 4, 9)),
		revision:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "weft_revision", Help: "Revision that is resolved."}),
		streams:     prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weft_streams", Help: "Open ADS streams."}, []string{"protocol"}),
		pushes:      counter("weft_pushes_total", "Responses sent to sidecars.", "type"),
		pushBytes:   counter("weft_push_bytes_total", "Bytes sent to sidecars.", "type"),
		acks:        prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "weft_ack_seconds", Help: "Time until a sidecar confirmed a response.", Buckets: seconds}, []string{"type"}),
		nacks:       counter("weft_nacks_total", "Responses that sidecars refused.", "type"),
		propagation: histogram("weft_propagation_seconds", "Time from a change until one sidecar confirmed all of it.", seconds),
	}
	o.registry.MustRegister(o.changes, o.resolving, o.publishing, o.reach, o.revision, o.streams, o.pushes, o.pushBytes, o.acks, o.nacks, o.propagation,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// build says in the metrics which program gives them.
func (o *observer) build(version string) {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "weft_build_info", Help: "1, with the version of this control plane."}, []string{"version"})
	g.WithLabelValues(version).Set(1)
	o.registry.MustRegister(g)
}

// action is what happened to an object.
func action(c api.Change) string {
	switch {
	case c.Before == nil:
		return "created"
	case c.After == nil:
		return "deleted"
	}
	return "updated"
}

// received begins the trace of a set of changes.
func (o *observer) received(revision uint64, changes []api.Change) trace.Span {
	_, span := o.tracer.Start(context.Background(), "change", trace.WithNewRoot(),
		trace.WithAttributes(attribute.Int64("weft.revision", int64(revision)), attribute.Int("weft.changes", len(changes))))
	for _, c := range changes {
		what := action(c)
		o.changes.WithLabelValues(what).Inc()
		by := o.authors.of(c, revision)
		o.events.Publish(web.Event{Type: "change", Revision: revision, Object: c.Ref().String(), Action: what, User: by.User, Client: by.Client})
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recent[revision%remembered] = moment{revision: revision, at: time.Now(), span: span.SpanContext()}
	return span
}

// resolved ends it.
func (o *observer) resolved(span trace.Span, revision uint64, affected resolve.Affected, took time.Duration) {
	_, child := o.tracer.Start(trace.ContextWithSpan(context.Background(), span), "resolve", trace.WithTimestamp(time.Now().Add(-took)),
		trace.WithAttributes(attribute.Int("weft.affected", len(affected.Dataplanes))))
	child.End()
	span.End()
	o.resolving.Observe(took.Seconds())
	o.reach.Observe(float64(len(affected.Dataplanes)))
	o.revision.Set(float64(revision))
	o.events.Publish(web.Event{Type: "recompute", Revision: revision, Count: len(affected.Dataplanes), Took: took.Seconds()})
}

// published notes that a revision was handed to the streams.
func (o *observer) published(revision uint64, dataplanes int, took time.Duration) {
	o.publishing.Observe(took.Seconds())
	_, span := o.tracer.Start(o.within(revision), "publish", trace.WithTimestamp(time.Now().Add(-took)),
		trace.WithAttributes(attribute.Int64("weft.revision", int64(revision)), attribute.Int("weft.affected", dataplanes)))
	span.End()
}

// within is the trace of a revision.
func (o *observer) within(revision uint64) context.Context {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.recent[revision%remembered]
	if m.revision != revision {
		return context.Background()
	}
	return trace.ContextWithSpanContext(context.Background(), m.span)
}

// Connected is told of a new stream.
func (o *observer) Connected(p server.Peer) {
	o.stirred.Add(1)
	o.Stirred(p.Dataplane)
	o.streams.WithLabelValues(p.Protocol).Inc()
	o.events.Publish(web.Event{Type: "connect", Dataplane: p.Dataplane.String()})
	if o.onJoin != nil {
		o.onJoin(p)
	}
}

// Disconnected is told of the end of a stream.
func (o *observer) Disconnected(p server.Peer, err error) {
	o.stirred.Add(1)
	o.Stirred(p.Dataplane)
	o.streams.WithLabelValues(p.Protocol).Dec()
	v := web.Event{Type: "disconnect", Dataplane: p.Dataplane.String()}
	if err != nil {
		v.Message = err.Error()
	}
	o.events.Publish(v)
	if o.onLeave != nil {
		o.onLeave(p)
	}
}

// Pushed is told of a response.
func (o *observer) Pushed(p server.Peer, push server.Push) {
	o.pushes.WithLabelValues(push.Type).Inc()
	o.pushBytes.WithLabelValues(push.Type).Add(float64(push.Bytes))
	o.events.Publish(web.Event{Type: "push", Dataplane: p.Dataplane.String(), Resources: push.Type, Count: push.Resources, Revision: push.Revision})
}

// Acked is told of a confirmation.
func (o *observer) Acked(p server.Peer, push server.Push, took time.Duration) {
	o.acks.WithLabelValues(push.Type).Observe(took.Seconds())
	o.events.Publish(web.Event{Type: "ack", Dataplane: p.Dataplane.String(), Resources: push.Type, Revision: push.Revision, Took: took.Seconds()})
}

// Nacked is told of a refusal.
func (o *observer) Nacked(p server.Peer, n server.Nack) {
	o.stirred.Add(1)
	o.Stirred(p.Dataplane)
	o.nacks.WithLabelValues(n.Type).Inc()
	o.events.Publish(web.Event{Type: "nack", Dataplane: p.Dataplane.String(), Resources: n.Type, Revision: n.Revision, Message: n.Message})
	_, span := o.tracer.Start(o.within(n.Revision), "refused", trace.WithAttributes(attribute.String("weft.dataplane", p.Dataplane.String())))
	span.SetStatus(codes.Error, n.Message)
	span.End()
}

// Stirred is told when the state of a sidecar may be another.
func (o *observer) Stirred(dp api.Ref) {
	if o.onStir != nil {
		o.onStir(dp)
	}
}

// Synced is told when a sidecar has everything of a revision.
func (o *observer) Synced(p server.Peer, revision uint64) {
	o.stirred.Add(1)
	o.Stirred(p.Dataplane)
	now := time.Now()
	o.events.Publish(web.Event{Type: "synced", Dataplane: p.Dataplane.String(), Revision: revision})
	o.mu.Lock()
	m := &o.recent[revision%remembered]
	known := m.revision == revision
	at, traced := m.at, m.spans < tracedReplies
	if known {
		m.spans++
	}
	o.mu.Unlock()
	if !known {
		return
	}
	o.propagation.Observe(now.Sub(at).Seconds())
	if traced {
		_, span := o.tracer.Start(o.within(revision), "acknowledge", trace.WithTimestamp(at),
			trace.WithAttributes(attribute.String("weft.dataplane", p.Dataplane.String())))
		span.End(trace.WithTimestamp(now))
	}
}
