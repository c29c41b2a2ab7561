package server

import (
	"context"
	"log/slog"
	"runtime/debug"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

type fullStream = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer
type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// StreamAggregatedResources serves the state-of-the-world form.
func (s *Server) StreamAggregatedResources(g fullStream) error {
	return session(s, g.Context(), syncstatus.StateOfTheWorld, g.Recv, func(ctx context.Context, st *stream, first *discoveryv3.DiscoveryRequest) error {
		engine := sotw.NewServer(ctx, st, nil, sotw.WithOrderedADS())
		return engine.StreamHandler(&sotwRequests{g, ctx, st, first}, resource.AnyType)
	})
}

// DeltaAggregatedResources serves the delta form.
func (s *Server) DeltaAggregatedResources(g deltaStream) error {
	return session(s, g.Context(), syncstatus.Delta, g.Recv, func(ctx context.Context, st *stream, first *discoveryv3.DeltaDiscoveryRequest) error {
		engine := delta.NewServer(ctx, st, nil)
		return engine.DeltaStreamHandler(&deltaRequests{deltaStream: g, ctx: ctx, st: st, first: first}, resource.AnyType)
	})
}

// session is the life of a stream: who is it, then all else. Its frame is on a stack for as
// long as the stream lives, which has room for little: what only begins or ends a stream
// is in functions of its own.
func session[Q interface{ GetNode() *corev3.Node }](
	s *Server, parent context.Context, form string, recv func() (Q, error), run func(context.Context, *stream, Q) error,
) error {
	st, first, err := admit(s, parent, form, recv)
	if err != nil {
		return err
	}
	defer st.leave()
	s.begin(parent, st)
	return s.ended(parent, st, st.guard(func() error { return run(st.ctx, st.stream, first) }))
}

// admitted is a stream of which is known who it is, and what ends with it.
type admitted struct {
	*stream
	ctx  context.Context // ends with the stream
	stop func()          // of its expiry
}

// leave is the end of the stream.
func (a *admitted) leave() {
	a.close()
	a.server.leave(a.stream)
	a.server.opts.Observer.Stirred(a.peer.Dataplane)
	a.stop()
	a.end(nil)
}

// admit finds out who opens a stream, and makes it one of its dataplane's.
func admit[Q interface{ GetNode() *corev3.Node }](
	s *Server, parent context.Context, form string, recv func() (Q, error),
) (st *admitted, first Q, err error) {
	if _, ok := s.Revision(); !ok {
		return nil, first, streams.ErrEarly
	}
	who, err := authn.Authenticate(parent, s.opts.Authenticator)
	if err != nil {
		first, _ := streams.Await(parent, claimWait, recv)
		return nil, first, s.refuse(parent, first.GetNode(), err)
	}
	if first, err = streams.Await(parent, s.opts.FirstRequest, recv); err != nil {
		return nil, first, s.refuse(parent, nil, err)
	}
	ref, err := who.Claim(first.GetNode().GetId(), s.known)
	if err != nil {
		return nil, first, s.refuse(parent, first.GetNode(), err)
	}
	ctx, end := context.WithCancelCause(parent)
	about := syncstatus.PeerOf(ref, form, first.GetNode(), s.streams.Add(1))
	if syncstatus.MakesNoKey(first.GetNode()) {
		proof := who // all others keep nothing of it
		about.Proof = &proof
	}
	if s.opts.Hold != nil {
		s.opts.Hold(ctx, about)
	}
	st = &admitted{newStream(s, about, end), ctx, who.Expire(end)}
	st.token = who.Token
	if err := s.join(st.stream); err != nil {
		st.stop()
		end(nil)
		return nil, first, s.refuse(parent, first.GetNode(), err)
	}
	if _, err := authn.Authenticate(parent, s.opts.Authenticator); err != nil {
		st.leave()
		return nil, first, s.refuse(parent, first.GetNode(), err) // revoked in between
	}
	if ref.Resolve(s.known) != ref {
		st.leave()
		return nil, first, errRenamed // it appeared in between
	}
	return st, first, nil
}

// begin tells of a stream, and has it served.
func (s *Server) begin(parent context.Context, st *admitted) {
	s.opts.Observer.Connected(st.peer)
	s.log(parent, st).Info("connected", "protocol", st.peer.Protocol, "client", st.peer.Client, "version", st.peer.Version)
	s.queue.add(st.stream) // and not here: rendering would leave this goroutine a large stack for the stream's whole life
}

// ended tells that a stream is over, and why.
func (s *Server) ended(parent context.Context, st *admitted, err error) error {
	if parent.Err() == nil && st.ctx.Err() != nil {
		err = context.Cause(st.ctx) // the library takes the end of its context for a good end
	}
	s.opts.Observer.Disconnected(st.peer, err)
	s.log(parent, st).Info("disconnected", "after", time.Since(st.since).Round(time.Millisecond), "why", reason(parent, err))
	return err
}

func (s *Server) log(parent context.Context, st *admitted) *slog.Logger {
	return s.opts.Logger.With("dataplane", st.peer.Dataplane.String(), "address", streams.AddressOf(parent), "stream", st.peer.Stream)
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

// known reports whether there is such a dataplane.
func (s *Server) known(ref api.Ref) bool {
	_, ok := s.current.Load().source.Dataplane(ref)
	return ok
}

// errRenamed ends a stream that waits for a dataplane by a name that turned out
// to be that of one with a namespace.
var errRenamed = status.Error(codes.Unavailable, "the dataplane is there now; connect again")
