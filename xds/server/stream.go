package server

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/push"
	"github.com/weftmesh/weft/xds/server/subscription"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// stream is one client's stream, and the cache of the library's protocol engine
// for it. The library calls it from one goroutine, workers from others; both
// hold mu for whatever they decide, so that no answer is sent to a request that
// was taken back. Nothing is sent, and no other stream is touched, under mu.
type stream struct {
	server   *Server
	peer     syncstatus.Peer
	renderer Renderer     // for what its agent takes and serves
	node     *corev3.Node // what every request is from
	since    time.Time
	token    string // id of the token that opened it
	end      context.CancelCauseFunc
	cancel   func() // suspend, once for all types

	mu   sync.Mutex
	push push.Stream
}

var (
	_ cache.Cache    = (*stream)(nil)
	_ push.Transport = (*stream)(nil)
)

func newStream(s *Server, p syncstatus.Peer, end context.CancelCauseFunc) *stream {
	st := &stream{server: s, peer: p, renderer: s.opts.Renderer, since: time.Now(), end: end}
	if s.opts.RendererFor != nil {
		st.renderer = s.opts.RendererFor(p.Features)
	}
	st.node = &corev3.Node{Id: p.Dataplane.Mesh + "." + p.Dataplane.Name} // without the kilobytes that an Envoy says of itself
	st.cancel = st.suspend
	st.push = push.New(&s.opts.Options, &st.peer, st)
	return st
}

// CreateWatch takes a request of the state-of-the-world form from the library's engine.
func (st *stream) CreateWatch(q *discoveryv3.DiscoveryRequest, sub cache.Subscription, out chan cache.Response) (func(), error) {
	return st.watch(q.GetTypeUrl(), sub, func(t subscription.ResourceType) { st.push.Request(t, q, sub, out) })
}

// CreateDeltaWatch takes a request of the delta form from the library's engine.
func (st *stream) CreateDeltaWatch(q *discoveryv3.DeltaDiscoveryRequest, sub cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	return st.watch(q.GetTypeUrl(), sub, func(t subscription.ResourceType) { st.push.RequestDelta(t, q, sub, out) })
}

func (st *stream) watch(url string, sub cache.Subscription, request func(subscription.ResourceType)) (func(), error) {
	t, ok := subscription.TypeOf(url)
	if !ok {
		return nil, nil // never answered: weft has nothing of that type
	}
	if err := tooMany(len(sub.SubscribedResources())); err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	request(t)
	return st.cancel, nil
}

// suspend is called by the library before it takes a request of a type that was asked for before,
// and when the stream ends: in between it changes the names of that type, and after it closes
// where answers go. So nothing is answered until the request is here.
func (st *stream) suspend() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.push.Suspend()
}

// Fetch is the form of xDS without streams, which weft does not serve.
func (st *stream) Fetch(context.Context, *discoveryv3.DiscoveryRequest) (cache.Response, error) {
	return nil, fmt.Errorf("weft serves streams only")
}

// Returned is called by the library when a response counts as sent.
func (st *stream) Returned(r *subscription.Response) map[string]string {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.push.Returned(r)
}

// sending takes note that the library sends the queued response of a type.
func (st *stream) sending(url, nonce string) {
	t, _ := subscription.TypeOf(url)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.push.Sending(t, nonce)
}

// bring takes what a client has of a type from an earlier stream.
func (st *stream) bring(t subscription.ResourceType, versions map[string]string) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.push.Bring(t, versions)
}

// share replaces names by the equal strings of shared resources, and returns that of their type:
// the library keeps them for as long as the stream lives, and many streams ask for the same.
func (st *stream) share(url string, list []string) string {
	t, ok := subscription.TypeOf(url)
	if !ok {
		return url
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	for i, name := range list {
		if r := st.push.Find(t, name); r != nil {
			list[i] = r.Name
		}
	}
	return t.URL()
}

// Wake has the stream refreshed by one of few workers.
func (st *stream) Wake() { st.server.queue.add(st) }

// refresh looks at the newest publication, and sends what may be sent.
func (st *stream) refresh() {
	defer st.server.opts.Observer.SidecarChanged(st.peer.Dataplane)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.server.queue.take(st)
	if st.push.Closed() {
		return
	}
	p := st.server.current.Load()
	now, ok := p.source.Dataplane(st.peer.Dataplane)
	switch {
	case !ok && st.push.Want() == nil:
		st.push.Note(st.peer.Dataplane.String() + " does not exist; apply it, or give it to the sidecar with --dataplane-file")
	case !ok:
		st.push.Note(st.peer.Dataplane.String() + " was deleted; its sidecar keeps the configuration of before")
	case now != st.push.Resolved() && st.early(now):
		st.push.Note("it is being found out that its key comes from the control plane")
	case now != st.push.Resolved():
		started := time.Now()
		state := st.render(now)
		st.server.opts.Observer.Rendered(st.peer, p.revision, time.Since(started))
		if st.push.Update(now, p.revision, state) {
			st.server.tables.changed.Add(1)
		}
	}
	st.push.Pump()
}

// early reports whether it is not known yet that the client makes no key: what it would be sent
// has it ask for its certificate where nobody serves one.
func (st *stream) early(r *effective.Resolved) bool {
	return st.peer.Proof != nil && r.Identity != nil && !r.OverADS
}

// render is nil where a bug in rendering strikes: all others are served.
func (st *stream) render(r *effective.Resolved) (out *resource.State) {
	defer func() {
		if p := recover(); p != nil {
			st.server.opts.Logger.Error("rendering failed", "dataplane", st.peer.Dataplane.String(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if syncstatus.IsGRPC(st.peer.Client) {
		return st.renderer.RenderGRPC(r)
	}
	return st.renderer.Render(r)
}

// give serves a secret on this stream alone; false where it is over.
func (st *stream) give(secret *resource.Resource) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.push.Closed() {
		return false
	}
	if st.push.Give(secret) {
		st.server.tables.changed.Add(1)
		st.push.Pump()
	}
	return true
}

// status is how far the client is.
func (st *stream) status() syncstatus.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := st.progress()
	out.Types = st.push.Types()
	return out
}

// brief is status without its counts of types.
func (st *stream) brief() syncstatus.Status {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.progress()
}

// progress is brief, and needs mu.
func (st *stream) progress() syncstatus.Status {
	newest, _ := st.server.Revision()
	out := st.push.Status(newest, st.server.queue.has(st))
	out.Since = st.since
	return out
}

// want are the resources that the client should have; nil for nothing yet.
func (st *stream) want() *resource.State {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.push.Want()
}

// sent are those of each type of which anything was sent.
func (st *stream) sent() *resource.State {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.push.Sent()
}

// keep takes note in h of what the next stream of the client goes on with.
func (st *stream) keep(h *push.DataplaneRecord) {
	st.mu.Lock()
	defer st.mu.Unlock()
	h.Keep(&st.push)
}

// close stops all that would still answer.
func (st *stream) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.push.Close()
}

// guard turns a bug that one client meets into the end of its stream.
func (st *stream) guard(run func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			st.server.opts.Logger.Error("stream failed", "dataplane", st.peer.Dataplane.String(), "panic", p, "stack", string(debug.Stack()))
			err = status.Error(codes.Internal, "a bug in weft ended the stream; report the log of the control plane")
		}
	}()
	return run()
}

// bound ends the stream if one request asks for too much.
func (st *stream) bound(names []string, versions map[string]string) error {
	err := tooMuch(names, versions)
	if err != nil {
		st.end(err) // the engine takes an error of its stream for a good end
	}
	return err
}
