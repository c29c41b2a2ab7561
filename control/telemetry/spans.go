package telemetry

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// A change is one trace: the request by which it came, within the client's trace where it
// names one, store, change, resolve, publish, and then for each of some sidecars render, push
// and acknowledge, with a link to the span in which the sidecar's stream was opened. Of a
// revision that goes to no sidecar, since a newer one came meanwhile, the last span is
// superseded, with a link to the change of that one.

// inTrace is the trace of a span.
func inTrace(sc trace.SpanContext) context.Context {
	return trace.ContextWithSpanContext(context.Background(), sc)
}

// facts are what a span says.
func facts(all ...attribute.KeyValue) trace.SpanStartOption { return trace.WithAttributes(all...) }

// child is a span that has taken so long and ends now.
func (o *Observer) child(of trace.SpanContext, name string, took time.Duration, options ...trace.SpanStartOption) {
	if o.tracing.Exports && of.IsValid() {
		now := time.Now()
		_, span := o.tracing.Start(inTrace(of), name, append(options, trace.WithTimestamp(now.Add(-took)))...)
		span.End(trace.WithTimestamp(now))
	}
}

// change is the span of what is made of a revision.
func (o *Observer) change(revision uint64, documents int) trace.Span {
	ctx, options := context.Background(), []trace.SpanStartOption{facts(attribute.Int64("weft.revision", int64(revision)), attribute.Int("weft.changes", documents))}
	o.mu.Lock()
	last := o.received
	o.received = revision
	came := o.stored[revision%remembered]
	var passed []trace.SpanContext // written, and not seen by themselves
	for r := max(last, revision-min(revision, remembered)) + 1; r < revision; r++ {
		if w := o.stored[r%remembered]; w.revision == r {
			passed = append(passed, w.span)
		}
	}
	o.mu.Unlock()
	if came.revision == revision && came.span.IsValid() {
		ctx = inTrace(came.span)
	} else {
		options = append(options, trace.WithNewRoot())
	}
	_, span := o.tracing.Start(ctx, "change", options...)
	for _, sc := range passed {
		o.superseded(sc, span.SpanContext(), revision)
	}
	return span
}

// superseded ends a trace whose change goes on as a part of another revision.
func (o *Observer) superseded(of, by trace.SpanContext, revision uint64) {
	o.child(of, "superseded", 0, facts(attribute.Int64("weft.revision", int64(revision))), trace.WithLinks(trace.Link{SpanContext: by}))
}

// opens is the span of a new stream, to which those of its sidecar link.
func (o *Observer) opens(p syncstatus.Peer) {
	if !o.tracing.Exports {
		return
	}
	_, span := o.tracing.Start(context.Background(), "connect", trace.WithNewRoot(), of(p), facts(attribute.String("weft.protocol", p.Protocol),
		attribute.String("weft.client", p.Client), attribute.String("weft.version", p.Version)))
	span.End()
	o.opened.Store(p.Stream, span.SpanContext())
}

// of says whose span it is.
func of(p syncstatus.Peer) trace.SpanStartOption {
	return facts(attribute.String("weft.dataplane", p.Dataplane.String()))
}

// link leads to the span of a stream; none where there is none.
func (o *Observer) link(p syncstatus.Peer) trace.SpanStartOption {
	if sc, ok := o.opened.Load(p.Stream); ok {
		return trace.WithLinks(trace.Link{SpanContext: sc.(trace.SpanContext)})
	}
	return trace.WithLinks()
}

// tell is a span of what was done for a sidecar, of the first ones of a revision.
func (o *Observer) tell(p syncstatus.Peer, revision uint64, name string, took time.Duration, options ...trace.SpanStartOption) {
	if !o.tracing.Exports {
		return
	}
	o.mu.Lock()
	at := &o.recent[revision%remembered]
	m := *at
	traced := m.revision == revision && p.Stream <= m.streams && m.pushes < tracedPushes
	if traced {
		at.pushes++
	}
	o.mu.Unlock()
	if traced {
		o.child(m.span, name, took, append(options, of(p), o.link(p))...)
	}
}

// refused is the span of a refusal.
func (o *Observer) refused(p syncstatus.Peer, n syncstatus.Nack) {
	if m, ok := o.at(n.Revision); ok && o.tracing.Exports {
		_, span := o.tracing.Start(inTrace(m.span), "refused", of(p), o.link(p), facts(attribute.String("weft.type", n.Type)))
		span.SetStatus(codes.Error, n.Message)
		span.End()
	}
}

// Request begins the span of a request of the API, within the trace of its client. What it
// returns is told the status of the answer.
func (o *Observer) Request(r *http.Request, route string) (context.Context, func(status int)) {
	ctx, span := o.tracing.Start(Incoming(r.Context(), r.Header), route, trace.WithSpanKind(trace.SpanKindServer), facts(attribute.String("http.request.method", r.Method)))
	return ctx, func(status int) {
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// observed is a store whose writes are measured and traced.
type observed struct {
	store.Store
	by *Observer
}

// Apply writes. The span is known by the revision before anybody sees it, since the store
// plans a step while nobody else writes.
func (s observed) Apply(ctx context.Context, plan store.Plan) (*snapshot.Snapshot, []store.Result, error) {
	o, started, refused := s.by, time.Now(), false
	ctx, span := o.tracing.Start(ctx, "store")
	defer span.End()
	now, results, err := s.Store.Apply(ctx, func(now *snapshot.Snapshot) ([]store.Write, error) {
		writes, err := plan(now)
		if refused = err != nil; !refused {
			o.writes(now.Revision()+1, span.SpanContext())
		}
		return writes, err
	})
	outcome := outcomeOf(results, err, refused)
	if outcome == "failed" {
		span.SetStatus(codes.Error, err.Error())
	}
	span.SetAttributes(attribute.String("weft.outcome", outcome))
	o.Writes.WithLabelValues(outcome).Observe(time.Since(started).Seconds())
	return now, results, err
}

// outcomeOf is one of Outcomes.
func outcomeOf(results []store.Result, err error, refused bool) string {
	switch {
	case refused:
		return "refused"
	case err != nil:
		return "failed"
	}
	for _, r := range results {
		if r.Action != store.Unchanged && r.Action != store.Missing {
			return "stored"
		}
	}
	return "unchanged"
}

// Measured is a store whose writes are measured and traced.
func Measured(inner store.Store, by *Observer) store.Store { return observed{inner, by} }

// writes says in which span a revision is written, if it comes to be.
func (o *Observer) writes(revision uint64, in trace.SpanContext) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.stored[revision%remembered] = written{revision, in}
}
