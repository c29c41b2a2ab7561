package telemetry

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/web/events"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// Observer makes metrics, traces and events of the moments of a change: stored,
// resolved, rendered, pushed, acknowledged.
type Observer struct {
	*Metrics
	tracing Tracing
	Events  *events.Bus
	authors authors
	Hooks   hooks // set before the first stream

	sidecarChanges atomic.Uint64 // how often sidecars came, went, followed or refused
	streams        atomic.Uint64 // the number of the newest one
	opened         sync.Map      // the span in which a stream was opened, by its number; of spans that go somewhere

	mu        sync.Mutex
	received  uint64 // the newest revision that came from the store
	published uint64 // the newest revision that went to the streams
	recent    [remembered]moment
	stored    [remembered]written
}

// authors know who wrote what changed at a revision.
type authors interface {
	Of(c snapshot.Change, revision uint64) store.Author
}

// hooks are told of streams beside what is measured of them. Each may be nil.
type hooks struct {
	Joined, Left func(syncstatus.Peer)
	Changed      func(api.Ref) // the state of a sidecar may be another
	Nacked       func(api.Ref, syncstatus.Nack)
	Synced       func(api.Ref)
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

// NewObserver observes by metrics, traces and events, and says who wrote what by authors.
func NewObserver(m *Metrics, tracing Tracing, events *events.Bus, by authors) *Observer {
	return &Observer{Metrics: m, tracing: tracing, Events: events, authors: by}
}

// action is what happened to an object.
func action(c snapshot.Change) string {
	switch {
	case c.Before == nil:
		return "created"
	case c.After == nil:
		return "deleted"
	}
	return "updated"
}

// Received is told of a set of changes, and begins the span of what is made of it: within the
// request that wrote the revision, where there was one.
func (o *Observer) Received(revision uint64, changes []snapshot.Change) trace.Span {
	m := moment{revision: revision, at: time.Now(), streams: o.streams.Load()}
	for _, c := range changes {
		what := action(c)
		o.Changes.WithLabelValues(what).Inc()
		if kind := c.Ref().Kind; !slices.Contains(m.kinds, kind) {
			m.kinds = append(m.kinds, kind)
		}
		by := o.authors.Of(c, revision)
		o.Events.Publish(events.Event{Type: "change", Revision: revision, Object: c.Ref().String(), Ref: c.Ref(), Action: what, User: by.User, Client: by.Client})
	}
	slices.Sort(m.kinds)
	span := o.change(revision, len(changes))
	m.span = span.SpanContext()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.recent[revision%remembered] = m
	return span
}

// Resolved is told when the set of changes is resolved.
func (o *Observer) Resolved(span trace.Span, revision uint64, affected resolve.Affected, took time.Duration) {
	o.child(span.SpanContext(), "resolve", took, facts(attribute.Int("weft.affected", len(affected.Dataplanes))))
	span.End()
	o.Resolving.Observe(took.Seconds())
	o.Affected.Observe(float64(len(affected.Dataplanes)))
	o.Revision.Set(float64(revision))
	o.Events.Publish(events.Event{Type: "recompute", Revision: revision, Count: len(affected.Dataplanes), Took: took.Seconds()})
}

// Publishes is told before a revision goes to the streams. What was received since the last
// one goes with it: those who acknowledge it acknowledge that too.
func (o *Observer) Publishes(revision uint64) {
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

// Published is told that a revision was handed to the streams.
func (o *Observer) Published(revision uint64, dataplanes int, took time.Duration) {
	o.Publishing.Observe(took.Seconds())
	if m, ok := o.at(revision); ok {
		o.child(m.span, "publish", took, facts(attribute.Int64("weft.revision", int64(revision)), attribute.Int("weft.affected", dataplanes)))
	}
}

// at is the moment of a revision; false where it is long ago.
func (o *Observer) at(revision uint64) (moment, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.recent[revision%remembered]
	return m, m.revision == revision
}

// Connected is told of a new stream.
func (o *Observer) Connected(p syncstatus.Peer) {
	o.SidecarChanged(p.Dataplane)
	for n := o.streams.Load(); n < p.Stream && !o.streams.CompareAndSwap(n, p.Stream); n = o.streams.Load() {
	}
	o.opens(p)
	o.Streams.WithLabelValues(p.Protocol).Inc()
	o.Events.Publish(events.Event{Type: "connect", Dataplane: p.Dataplane.String()})
	if o.Hooks.Joined != nil {
		o.Hooks.Joined(p)
	}
}

// Disconnected is told of the end of a stream.
func (o *Observer) Disconnected(p syncstatus.Peer, err error) {
	o.SidecarChanged(p.Dataplane)
	o.opened.Delete(p.Stream)
	o.Streams.WithLabelValues(p.Protocol).Dec()
	v := events.Event{Type: "disconnect", Dataplane: p.Dataplane.String()}
	if err != nil {
		v.Message = err.Error()
	}
	o.Events.Publish(v)
	if o.Hooks.Left != nil {
		o.Hooks.Left(p)
	}
}

// Rendered is told what it took to make the resources of a sidecar.
func (o *Observer) Rendered(p syncstatus.Peer, revision uint64, took time.Duration) {
	o.Rendering.Observe(took.Seconds())
	o.tell(p, revision, "render", took)
}

// Pushed is told of a response.
func (o *Observer) Pushed(p syncstatus.Peer, push syncstatus.Push) {
	o.Pushes.WithLabelValues(push.Type).Inc()
	o.PushBytes.WithLabelValues(push.Type).Add(float64(push.Bytes))
	o.Events.Publish(events.Event{Type: "push", Dataplane: p.Dataplane.String(), Resources: push.Type, Count: push.Resources, Revision: push.Revision})
}

// Acked is told of a confirmation.
func (o *Observer) Acked(p syncstatus.Peer, push syncstatus.Push, took time.Duration) {
	o.Acks.WithLabelValues(push.Type).Observe(took.Seconds())
	o.tell(p, push.Revision, "push", took, facts(attribute.String("weft.type", push.Type), attribute.Int("weft.resources", push.Resources), attribute.Int("weft.bytes", push.Bytes)))
	o.Events.Publish(events.Event{Type: "ack", Dataplane: p.Dataplane.String(), Resources: push.Type, Revision: push.Revision, Took: took.Seconds()})
}

// Nacked is told of a refusal.
func (o *Observer) Nacked(p syncstatus.Peer, n syncstatus.Nack) {
	o.SidecarChanged(p.Dataplane)
	o.Nacks.WithLabelValues(n.Type).Inc()
	o.Events.Publish(events.Event{Type: "nack", Dataplane: p.Dataplane.String(), Resources: n.Type, Revision: n.Revision, Message: n.Message})
	o.refused(p, n)
	if o.Hooks.Nacked != nil {
		o.Hooks.Nacked(p.Dataplane, n)
	}
}

// SidecarChanged is told when the state of a sidecar may be another.
func (o *Observer) SidecarChanged(dp api.Ref) {
	o.sidecarChanges.Add(1)
	if o.Hooks.Changed != nil {
		o.Hooks.Changed(dp)
	}
}

// SidecarChangedElsewhere is told when the state of sidecars may be another that are connected elsewhere.
func (o *Observer) SidecarChangedElsewhere() { o.sidecarChanges.Add(1) }

// SidecarChanges is how often sidecars came, went, followed or refused.
func (o *Observer) SidecarChanges() uint64 { return o.sidecarChanges.Load() }

// Synced is told when a sidecar has everything of a revision. One that connected later than
// the change came says nothing of how long changes take.
func (o *Observer) Synced(p syncstatus.Peer, revision uint64) {
	o.SidecarChanged(p.Dataplane)
	if o.Hooks.Synced != nil {
		o.Hooks.Synced(p.Dataplane)
	}
	now := time.Now()
	o.Events.Publish(events.Event{Type: "synced", Dataplane: p.Dataplane.String(), Revision: revision})
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
