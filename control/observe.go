package control

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/storage"
	"github.com/weftmesh/weft/control/telemetry"
	"github.com/weftmesh/weft/inspect/web"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds/server"
)

// observer makes metrics, traces and events of the moments of a change: stored,
// resolved, rendered, pushed, acknowledged.
type observer struct {
	*telemetry.Metrics
	tracing telemetry.Tracing
	events  *web.Events
	authors storage.Authors

	onJoin, onLeave func(server.Peer) // set before the first stream
	onStir          func(api.Ref)     // likewise; nil tells nobody
	goods           *goods            // likewise; nil remembers nothing

	stirred atomic.Uint64 // how often sidecars came, went, followed or refused
	streams atomic.Uint64 // the number of the newest one
	opened  sync.Map      // the span in which a stream was opened, by its number; of spans that go somewhere

	mu        sync.Mutex
	received  uint64 // the newest revision that came from the store
	published uint64 // the newest revision that went to the streams
	recent    [remembered]moment
	stored    [remembered]written
}

// moment is when a revision was received, and its trace. It stands at its revision modulo
// remembered.
type moment struct {
	revision uint64
	at       time.Time
	span     trace.SpanContext
	kinds    []string // of the documents that changed, sorted
	streams  uint64   // the newest stream at that time
	pushes   int      // traced
	spans    int      // acknowledgements traced
}

// written is the span in which a revision was written.
type written struct {
	revision uint64
	span     trace.SpanContext
}

const (
	remembered    = 256 // revisions of which acknowledgements can be timed
	tracedReplies = 32  // acknowledgements traced for each revision
	tracedPushes  = 128 // and responses, also renderings
)

func newObserver(m *telemetry.Metrics, tracing telemetry.Tracing, events *web.Events) *observer {
	return &observer{Metrics: m, tracing: tracing, events: events}
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

// began is told of a set of changes, and begins the span of what is made of it: within the
// request that wrote the revision, where there was one.
func (o *observer) began(revision uint64, changes []api.Change) trace.Span {
	m := moment{revision: revision, at: time.Now(), streams: o.streams.Load()}
	for _, c := range changes {
		what := action(c)
		o.Changes.WithLabelValues(what).Inc()
		if kind := c.Ref().Kind; !slices.Contains(m.kinds, kind) {
			m.kinds = append(m.kinds, kind)
		}
		by := o.authors.Of(c, revision)
		o.events.Publish(web.Event{Type: "change", Revision: revision, Object: c.Ref().String(), Action: what, User: by.User, Client: by.Client})
	}
	slices.Sort(m.kinds)
	span := o.change(revision, len(changes))
	m.span = span.SpanContext()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recent[revision%remembered] = m
	return span
}

// resolved is told when the set of changes is resolved.
func (o *observer) resolved(span trace.Span, revision uint64, affected resolve.Affected, took time.Duration) {
	o.child(span.SpanContext(), "resolve", took, facts(attribute.Int("weft.affected", len(affected.Dataplanes))))
	span.End()
	o.Resolving.Observe(took.Seconds())
	o.Reach.Observe(float64(len(affected.Dataplanes)))
	o.Revision.Set(float64(revision))
	o.events.Publish(web.Event{Type: "recompute", Revision: revision, Count: len(affected.Dataplanes), Took: took.Seconds()})
}

// publishes is told before a revision goes to the streams. What was received since the last
// one goes with it: those who acknowledge it acknowledge that too.
func (o *observer) publishes(revision uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := &o.recent[revision%remembered]
	if m.revision != revision {
		return
	}
	first := true
	for r := max(o.published, revision-min(revision, remembered)) + 1; r < revision; r++ {
		e := &o.recent[r%remembered]
		if e.revision != r {
			continue
		}
		if first {
			m.at, m.streams, first = e.at, e.streams, false
		}
		for _, kind := range e.kinds {
			if !slices.Contains(m.kinds, kind) {
				m.kinds = append(m.kinds, kind)
			}
		}
		o.superseded(e.span, m.span, revision)
	}
	o.published = revision
}

// handed is told that a revision was handed to the streams.
func (o *observer) handed(revision uint64, dataplanes int, took time.Duration) {
	o.Publishing.Observe(took.Seconds())
	if m, ok := o.at(revision); ok {
		o.child(m.span, "publish", took, facts(attribute.Int64("weft.revision", int64(revision)), attribute.Int("weft.affected", dataplanes)))
	}
}

// at is the moment of a revision; false where it is long ago.
func (o *observer) at(revision uint64) (moment, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.recent[revision%remembered]
	return m, m.revision == revision
}

// Connected is told of a new stream.
func (o *observer) Connected(p server.Peer) {
	o.Stirred(p.Dataplane)
	for n := o.streams.Load(); n < p.Stream && !o.streams.CompareAndSwap(n, p.Stream); n = o.streams.Load() {
	}
	o.opens(p)
	o.Streams.WithLabelValues(p.Protocol).Inc()
	o.events.Publish(web.Event{Type: "connect", Dataplane: p.Dataplane.String()})
	if o.onJoin != nil {
		o.onJoin(p)
	}
}

// Disconnected is told of the end of a stream.
func (o *observer) Disconnected(p server.Peer, err error) {
	o.Stirred(p.Dataplane)
	o.opened.Delete(p.Stream)
	o.Streams.WithLabelValues(p.Protocol).Dec()
	v := web.Event{Type: "disconnect", Dataplane: p.Dataplane.String()}
	if err != nil {
		v.Message = err.Error()
	}
	o.events.Publish(v)
	if o.onLeave != nil {
		o.onLeave(p)
	}
}

// Rendered is told what it took to make the resources of a sidecar.
func (o *observer) Rendered(p server.Peer, revision uint64, took time.Duration) {
	o.Rendering.Observe(took.Seconds())
	o.tell(p, revision, "render", took)
}

// Pushed is told of a response.
func (o *observer) Pushed(p server.Peer, push server.Push) {
	o.Pushes.WithLabelValues(push.Type).Inc()
	o.PushBytes.WithLabelValues(push.Type).Add(float64(push.Bytes))
	o.events.Publish(web.Event{Type: "push", Dataplane: p.Dataplane.String(), Resources: push.Type, Count: push.Resources, Revision: push.Revision})
}

// Acked is told of a confirmation.
func (o *observer) Acked(p server.Peer, push server.Push, took time.Duration) {
	o.Acks.WithLabelValues(push.Type).Observe(took.Seconds())
	o.tell(p, push.Revision, "push", took, facts(attribute.String("weft.type", push.Type), attribute.Int("weft.resources", push.Resources), attribute.Int("weft.bytes", push.Bytes)))
	o.events.Publish(web.Event{Type: "ack", Dataplane: p.Dataplane.String(), Resources: push.Type, Revision: push.Revision, Took: took.Seconds()})
}

// Nacked is told of a refusal.
func (o *observer) Nacked(p server.Peer, n server.Nack) {
	o.Stirred(p.Dataplane)
	o.Nacks.WithLabelValues(n.Type).Inc()
	o.events.Publish(web.Event{Type: "nack", Dataplane: p.Dataplane.String(), Resources: n.Type, Revision: n.Revision, Message: n.Message})
	o.refused(p, n)
	o.goods.refused(p.Dataplane, n)
}

// Stirred is told when the state of a sidecar may be another.
func (o *observer) Stirred(dp api.Ref) {
	o.stirred.Add(1)
	if o.onStir != nil {
		o.onStir(dp)
	}
}

// Synced is told when a sidecar has everything of a revision. One that connected later than
// the change came says nothing of how long changes take.
func (o *observer) Synced(p server.Peer, revision uint64) {
	o.Stirred(p.Dataplane)
	o.goods.synced(p.Dataplane)
	now := time.Now()
	o.events.Publish(web.Event{Type: "synced", Dataplane: p.Dataplane.String(), Revision: revision})
	o.mu.Lock()
	at := &o.recent[revision%remembered]
	m := *at
	known := m.revision == revision && p.Stream <= m.streams
	if known {
		at.spans++
	}
	o.mu.Unlock()
	if !known {
		return
	}
	took := now.Sub(m.at)
	o.Propagation.Observe(took.Seconds())
	for _, kind := range m.kinds {
		o.ChangeAcks.WithLabelValues(kind).Observe(took.Seconds())
	}
	if m.spans < tracedReplies {
		o.child(m.span, "acknowledge", took, of(p), o.link(p))
	}
}
