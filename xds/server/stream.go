package server

import (
	"context"
	"runtime/debug"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/genproto/googleapis/rpc/status"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// stream is one client's stream, and the cache of the library's protocol engine
// for it. The library calls it from one goroutine, workers from others; both
// hold mu for whatever they decide, so that no answer is sent to a request that
// was taken back. Nothing is sent, and no other stream is touched, under mu.
type stream struct {
	server *Server
	peer   syncstatus.Peer
	node   *corev3.Node // what every request is from
	grpc   bool         // the client is gRPC itself, not Envoy
	since  time.Time
	token  string // id of the token that opened it
	end    context.CancelCauseFunc

	mu         sync.Mutex
	closed     bool
	resolved   *effective.Resolved
	want       *resource.State     // nil while the dataplane is unknown
	revision   uint64              // of want
	synced     bool                // the client has confirmed all of want
	confirmed  *effective.Resolved // what the client has last confirmed as a whole
	acked      uint64              // revision that the client had confirmed when it last was synced
	note       string
	failed     bool // the newest configuration could not be rendered
	nack       *syncstatus.Nack
	unverified *unverified
	refusals   *refusalLog
	rest       *effective.Resolved // what the client that refuses something has confirmed but for lacks; nil where that is not known
	lacks      []string
	flows      [kinds]flow
	private    *resource.Resource       // a secret that this stream alone is served; nil for none
	brings     map[kind]told            // what the client had before it opened the stream, until it asks for the type
	deltaOut   chan cache.DeltaResponse // where answers of the delta form go
	noted      map[string]string        // by the library, of names that a client unsubscribes from
	cancel     func()                   // suspend, once for all types
	suspended  bool                     // the library is busy with a request that is not here yet

	// unconfirmed are clusters of want that the client has not confirmed yet.
	unconfirmed map[string]unconfirmed
	// turn counts the changes of what the client may have; at pruned it had nothing
	// that it should not have.
	turn, pruned uint64
	looked       int // resources that were looked at for responses
	// retained are clusters, and their endpoints, that want no longer has but
	// that the client's routes may still name.
	retained resource.State
	drained  time.Time // when no connection of an earlier listener is left that could need what goes
	removing bool      // what goes may be removed now
	brought  bool      // the client had resources before it opened the stream
	timer    *time.Timer
	due      time.Time // when timer must fire; zero is never
	took     time.Time // when the client confirmed clusters for the first time
}

var _ cache.Cache = (*stream)(nil)

func newStream(s *Server, p syncstatus.Peer, end context.CancelCauseFunc) *stream {
	st := &stream{server: s, peer: p, since: time.Now(), end: end}
	st.node = &corev3.Node{Id: p.Dataplane.Mesh + "." + p.Dataplane.Name} // without the kilobytes that an Envoy says of itself
	st.grpc = syncstatus.IsGRPC(p.Client)
	st.cancel = st.suspend
	for k := range st.flows {
		st.flows[k].kind = kind(k)
	}
	return st
}

// answered tells f what the client says of the response that is out. Any other
// nonce is that of a change of subscription.
func (st *stream) answered(f *flow, nonce string, refusal *status.Status) {
	r := f.out
	if r == nil || nonce != r.nonce {
		return
	}
	f.out = nil
	if refusal != nil {
		st.refuse(f, r, refusal.GetMessage())
	} else {
		st.confirm(f, r)
	}
}

// confirm takes an ACK.
func (st *stream) confirm(f *flow, r *response) {
	f.acked = true
	f.total.Acked++
	f.good = nil
	if r.full != nil && f.kind.whole() {
		f.good = r.list
	}
	if f.limit > 0 {
		f.limit *= 2
	}
	for _, name := range r.removed {
		delete(f.remove, name)
	}
	if r.full == nil && st.want != nil {
		f.settle(r.changed, f.kind.of(st.want))
	}
	st.noteConfirmed(f.kind, r.changed)
	st.unverified.clear(f.kind, r)
	took := time.Since(r.at)
	st.server.opts.Observer.Acked(st.peer, r.push(), took)
	if f.kind == clusters && st.took.IsZero() {
		st.took = time.Now()
	}
	if took >= st.server.opts.Slow { // Status told of it
		st.server.opts.Observer.Stirred(st.peer.Dataplane)
	}
}

// askedAgain sends what the client subscribes to although it was sent before:
// it forgot it in between.
func (st *stream) askedAgain(f *flow, names []string) {
	for _, name := range names {
		if _, ok := f.told.version(name); !ok {
			continue
		}
		if r := st.desired(f.kind, name); r != nil {
			f.force(r.Name, r.Version)
		}
	}
}

// reload sends the endpoints of every changed cluster again, right behind it. An
// Envoy that warms a changed cluster asks for nothing and waits for a version
// that it has not seen; until then the change is neither active nor confirmed.
func (st *stream) reload(r *response) {
	eds := &st.flows[endpoints]
	for _, v := range r.changed {
		if !v.EDS || !v.again {
			continue
		}
		if e := st.desired(endpoints, v.Name); e != nil {
			eds.force(e.Name, e.Version)
		}
	}
}

// sending turns the queued response of a type into the one that is out.
func (st *stream) sending(url, nonce string) {
	k, _ := kindOf(url)
	st.mu.Lock()
	defer st.mu.Unlock()
	f := &st.flows[k]
	r := f.queued
	if r == nil {
		return // taken back while the library had it in hand: the client answers it in vain
	}
	f.queued, f.out = nil, r
	r.nonce, r.at = nonce, time.Now()
	f.sent = true
	f.total.Sent++
	st.server.opts.Observer.Pushed(st.peer, r.push())
	if k == clusters {
		st.reload(r)
		st.pump()
		return
	}
	before := st.due
	if st.wakeSlow(r.at); !st.due.Equal(before) {
		st.arm()
	}
}

// refresh looks at the newest publication.
func (st *stream) refresh() {
	defer st.server.opts.Observer.Stirred(st.peer.Dataplane)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.server.queue.take(st)
	if st.closed {
		return
	}
	p := st.server.current.Load()
	now, ok := p.source.Dataplane(st.peer.Dataplane)
	switch {
	case !ok && st.want == nil:
		st.note = st.peer.Dataplane.String() + " does not exist; apply it, or give it to the sidecar with --dataplane-file"
	case !ok:
		st.note = st.peer.Dataplane.String() + " was deleted; its sidecar keeps the configuration of before"
	case now != st.resolved && st.early(now):
		st.note = "it is being found out that its key comes from the control plane"
	case now != st.resolved:
		st.resolved = now
		st.note, st.failed = "", false
		started := time.Now()
		state := st.render(now)
		st.server.opts.Observer.Rendered(st.peer, p.revision, time.Since(started))
		if state != nil && now.Failed != "" {
			st.failed = true
			st.note = "a bug in weft keeps a part of the newest configuration from being known, which stays as it was; run 'weft problems'"
			if st.want != nil {
				state = state.Over(st.want)
			}
		}
		if state != nil {
			st.replace(st.withPrivate(state, now), p.revision)
		}
	}
	st.pump()
}

// render is nil where a bug in rendering strikes: the client keeps what it has,
// and all others are served.
func (st *stream) render(r *effective.Resolved) (out *resource.State) {
	defer func() {
		if p := recover(); p != nil {
			st.failed = true
			st.note = "a bug in weft keeps the newest configuration from being rendered; report the log of the control plane"
			st.server.opts.Logger.Error("rendering failed", "dataplane", st.peer.Dataplane.String(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if st.grpc {
		return st.server.opts.Renderer.RenderGRPC(r)
	}
	return st.server.opts.Renderer.Render(r)
}

// close stops all that would still answer.
func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.closed, st.private = true, nil
	if st.timer != nil {
		st.timer.Stop()
	}
	for k := range st.flows {
		st.flows[k].open = false
	}
}
