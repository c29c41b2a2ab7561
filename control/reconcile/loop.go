package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// The rhythm of publications: the first change goes out at once; while changes
// keep coming, the pause before the next publication follows what the last one
// cost, within these bounds.
const (
	shortestPause = 10 * time.Millisecond
	longestPause  = 250 * time.Millisecond
)

// observing is told of the moments of a change.
type observing interface {
	Received(revision uint64, changes []snapshot.Change) trace.Span
	Resolved(span trace.Span, revision uint64, affected resolve.Affected, took time.Duration)
	Publishes(revision uint64)
	Published(revision uint64, dataplanes int, took time.Duration)
}

// marks are told of dataplanes whose state may be another.
type marks interface {
	// During does something at once with the mark: who sees what it does finds the dataplanes marked.
	During(do func(), refs ...api.Ref)
}

// Loop turns the changes of a store into models and hands them on. One
// goroutine resolves, so that questions are answered from the newest state
// even in a storm, and one publishes, so that sidecars see fewer, larger steps.
type Loop struct {
	log     *slog.Logger
	observe observing
	publish func(*resolve.Model, resolve.Affected)
	// Grace says what is to be known before a step is published, so that nobody is cut off by
	// it; nil for nothing.
	Grace func(before, next *resolve.Model, changes []snapshot.Change, affected resolve.Affected) []snapshot.Change

	current atomic.Pointer[resolve.Model]
	Marks   marks // nil: nothing is kept

	stepping sync.Mutex // one step after the other
	mu       sync.Mutex
	advanced chan struct{} // closed when current changes, then replaced
	pending  batch         // resolved and not published
	sending  batch         // on its way to the streams
	taken    uint64        // models that were made current
	given    uint64        // how many of them the streams have, or a later one
	handed   chan struct{} // closed when given changes, then replaced
	wake     chan struct{} // has a token while pending is not empty
}

// batch is what one publication will contain.
type batch struct {
	model    *resolve.Model
	affected map[api.Ref]bool
}

func New(log *slog.Logger, observe observing, publish func(*resolve.Model, resolve.Affected)) *Loop {
	return &Loop{log: log, observe: observe, publish: publish, advanced: make(chan struct{}), handed: make(chan struct{}),
		wake: make(chan struct{}, 1)}
}

// Begin resolves and publishes everything that there is, with what is known beside it, of which
// tell is told in between.
func (l *Loop) Begin(first *resolve.Model, s *snapshot.Snapshot, know func()) {
	changes := make([]snapshot.Change, 0, s.Len())
	for o := range s.All() {
		changes = append(changes, snapshot.Change{After: o})
	}
	started := time.Now()
	l.step(first, s, changes)
	know()
	l.send()
	l.log.Info("resolved", "revision", s.Revision(), "objects", s.Len(), "took", time.Since(started))
}

// Run follows the watch until ctx ends or the store closes.
func (l *Loop) Run(ctx context.Context, w store.Watch) error {
	var publishing sync.WaitGroup
	defer publishing.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	publishing.Go(func() { l.publishAll(ctx) })
	for {
		s, changes, err := w.Next(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("follow the store: %w", err)
		}
		l.stepping.Lock()
		l.step(l.current.Load(), s, news(changes))
		l.stepping.Unlock()
	}
}

// news are the changes of what objects say. The watch's list is shared.
func news(changes []snapshot.Change) []snapshot.Change {
	if !slices.ContainsFunc(changes, store.SaysNothingNew) {
		return changes
	}
	return slices.DeleteFunc(slices.Clone(changes), store.SaysNothingNew)
}

// Pause keeps steps from being made until what it returns is called.
func (l *Loop) Pause() (goOn func()) {
	l.stepping.Lock()
	return l.stepping.Unlock
}

// step resolves one set of changes and makes the result current.
func (l *Loop) step(m *resolve.Model, s *snapshot.Snapshot, changes []snapshot.Change) {
	span := l.observe.Received(s.Revision(), changes)
	started := time.Now()
	next, affected := m.Update(s, changes)
	if l.Grace != nil {
		if more := l.Grace(m, next, changes, affected); len(more) > 0 {
			held, also := next.Update(s, more)
			next, affected.Dataplanes = held, slices.Concat(affected.Dataplanes, also.Dataplanes)
			slices.SortFunc(affected.Dataplanes, api.Ref.Compare)
			affected.Dataplanes = slices.Compact(affected.Dataplanes)
		}
	}
	l.warn(m, next)
	l.observe.Resolved(span, s.Revision(), affected, time.Since(started))
	l.take(next, affected, changes)
}

// Update resolves what is known at run time, of which no store has anything: what look finds out
// beside the model that holds, while no other takes its place.
func (l *Loop) Update(look func(*resolve.Model) []snapshot.Change) {
	l.stepping.Lock()
	defer l.stepping.Unlock()
	m := l.current.Load()
	if m == nil {
		return
	}
	changes := look(m)
	if len(changes) == 0 {
		return
	}
	next, affected := m.Update(m.Written(), changes)
	l.warn(m, next)
	l.take(next, affected, changes)
}

// mark does something, with a mark of dataplanes whose state it may change.
func (l *Loop) mark(do func(), refs ...api.Ref) {
	if l.Marks == nil {
		do()
		return
	}
	l.Marks.During(do, refs...)
}

// Current is the model that holds; nil before the first one.
func (l *Loop) Current() *resolve.Model { return l.current.Load() }

// take makes a model current.
func (l *Loop) take(next *resolve.Model, affected resolve.Affected, changes []snapshot.Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	stirred := affected.Dataplanes
	if own := dataplanes(changes); len(own) > 0 {
		stirred = append(own, stirred...)
	}
	l.mark(func() { l.current.Store(next) }, stirred...)
	close(l.advanced)
	l.advanced = make(chan struct{})
	l.taken++
	if l.pending.affected == nil {
		l.pending.affected = make(map[api.Ref]bool, len(affected.Dataplanes))
	}
	l.pending.model = next
	for _, r := range affected.Dataplanes {
		l.pending.affected[r] = true
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// dataplanes are those among the objects of changes.
func dataplanes(changes []snapshot.Change) (out []api.Ref) {
	for _, c := range changes {
		if ref := c.Ref(); ref.Kind == api.KindDataplane {
			out = append(out, ref)
		}
	}
	return out
}

// warn logs the bugs that next meets and m did not.
func (l *Loop) warn(m, next *resolve.Model) {
	known := m.Failures()
	for _, f := range next.Failures() {
		if !slices.ContainsFunc(known, func(k resolve.Failure) bool { return k.What == f.What && k.Cause == f.Cause }) {
			l.log.Error("a bug keeps something from being resolved; all else holds", "what", f.What, "cause", f.Cause, "objects", f.Objects)
		}
	}
}

// publishAll sends what is pending, at once after a calm, paced in a storm.
func (l *Loop) publishAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
		took := l.send()
		select {
		case <-ctx.Done():
			return
		case <-time.After(min(max(took, shortestPause), longestPause)):
		}
	}
}

// send publishes what is pending and says how long that took.
func (l *Loop) send() time.Duration {
	l.mu.Lock()
	b, upTo := l.pending, l.taken
	l.pending, l.sending = batch{}, b
	l.mu.Unlock()
	if b.model == nil {
		return 0
	}
	refs := make([]api.Ref, 0, len(b.affected))
	for r := range b.affected {
		refs = append(refs, r)
	}
	slices.SortFunc(refs, api.Ref.Compare)
	l.observe.Publishes(b.model.Snapshot().Revision())
	started := time.Now()
	l.publish(b.model, resolve.Affected{Dataplanes: refs})
	took := time.Since(started)
	l.mu.Lock()
	l.mark(func() { l.sending, l.given = batch{}, upTo }, refs...) // who waited does no more
	close(l.handed)
	l.handed = make(chan struct{})
	l.mu.Unlock()
	l.observe.Published(b.model.Snapshot().Revision(), len(refs), took)
	return took
}

// Unpublished are the dataplanes whose next configuration is resolved, and not
// published yet.
func (l *Loop) Unpublished() map[api.Ref]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[api.Ref]bool{}
	maps.Copy(all, l.pending.affected)
	maps.Copy(all, l.sending.affected)
	return all
}

// Waits reports whether the next configuration of a dataplane is resolved, and not
// published yet.
func (l *Loop) Waits(dp api.Ref) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending.affected[dp] || l.sending.affected[dp]
}

// Delivered waits until all streams have what holds now, or a later model, or ctx ends.
func (l *Loop) Delivered(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for now := l.taken; l.given < now && ctx.Err() == nil; {
		handed := l.handed
		l.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-handed:
		}
		l.mu.Lock()
	}
}

// Model is what holds, as of revision or later.
func (l *Loop) Model(ctx context.Context, revision uint64) (*resolve.Model, error) {
	for {
		l.mu.Lock()
		advanced := l.advanced
		l.mu.Unlock()
		if m := l.current.Load(); m != nil && m.Snapshot().Revision() >= revision {
			return m, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for revision %d: %w", revision, ctx.Err())
		case <-advanced:
		}
	}
}
