package server

import (
	"context"
	"log/slog"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/delta/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/sotw/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
	"github.com/weftmesh/weft/xds/server/syncstatus"
	"github.com/weftmesh/weft/xds/server/truncate"
)

// serveFull serves the state-of-the-world form.
func serveFull(s *Server, g fullStream) error {
	return session(s, g.Context(), syncstatus.StateOfTheWorld, g.Recv, func(ctx context.Context, st *stream, first *discoveryv3.DiscoveryRequest) error {
		engine := sotw.NewServer(ctx, st, nil, sotw.WithOrderedADS())
		return engine.StreamHandler(&sotwRequests{g, ctx, st, first}, resource.AnyType)
	})
}

// serveDelta serves the delta form.
func serveDelta(s *Server, g deltaStream) error {
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
	st.begin(parent)
	return st.ended(parent, st.guard(func() error { return run(st.ctx, st.stream, first) }))
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
	a.server.opts.Observer.SidecarChanged(a.peer.Dataplane)
	a.stop()
	a.end(nil)
}

// begin tells of a stream, and has it served.
func (a *admitted) begin(parent context.Context) {
	a.server.opts.Observer.Connected(a.peer)
	a.log(parent).Info("connected", "protocol", a.peer.Protocol, "client", a.peer.Client, "version", a.peer.Version)
	a.server.queue.add(a.stream) // and not here: rendering would leave this goroutine a large stack for the stream's whole life
}

// ended tells that a stream is over, and why.
func (a *admitted) ended(parent context.Context, err error) error {
	if parent.Err() == nil && a.ctx.Err() != nil {
		err = context.Cause(a.ctx) // the library takes the end of its context for a good end
	}
	a.server.opts.Observer.Disconnected(a.peer, err)
	a.log(parent).Info("disconnected", "after", time.Since(a.since).Round(time.Millisecond), "why", reason(parent, err))
	return err
}

func (a *admitted) log(parent context.Context) *slog.Logger {
	return a.server.opts.Logger.With("dataplane", a.peer.Dataplane.String(), "address", streams.AddressOf(parent), "stream", a.peer.Stream)
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
		return nil, first, refuse(parent, s, first.GetNode(), err)
	}
	if first, err = streams.Await(parent, s.opts.FirstRequest, recv); err != nil {
		return nil, first, refuse(parent, s, nil, err)
	}
	ref, err := who.Claim(first.GetNode().GetId(), s.known)
	if err != nil {
		return nil, first, refuse(parent, s, first.GetNode(), err)
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
		return nil, first, refuse(parent, s, first.GetNode(), err)
	}
	if _, err := authn.Authenticate(parent, s.opts.Authenticator); err != nil {
		st.leave()
		return nil, first, refuse(parent, s, first.GetNode(), err) // revoked in between
	}
	if ref.Resolve(s.known) != ref {
		st.leave()
		return nil, first, errRenamed // it appeared in between
	}
	return st, first, nil
}

// errRenamed ends a stream that waits for a dataplane by a name that turned out
// to be that of one with a namespace.
var errRenamed = status.Error(codes.Unavailable, "the dataplane is there now; connect again")

// claimWait is how long a stream that is refused may take to say who it claims
// to be, for the log alone: clients say it with the stream.
const claimWait = time.Second

// refuse logs that a stream is refused, and who asked for it: whoever looks for
// a stolen or a stale token needs address and name.
func refuse(ctx context.Context, s *Server, claims *corev3.Node, err error) error {
	s.opts.Logger.Warn("refused a stream", "address", streams.AddressOf(ctx), "node", truncate.Text(claims.GetId(), truncate.Claim), "error", truncate.Text(status.Convert(err).Message(), truncate.Message))
	if s.opts.Refused != nil {
		s.opts.Refused(truncate.Text(claims.GetId(), truncate.Claim), err)
	}
	return err
}

// reason is why a stream ended.
func reason(parent context.Context, err error) string {
	switch {
	case err != nil && status.Code(err) != codes.Canceled:
		return truncate.Text(status.Convert(err).Message(), truncate.Message)
	case parent.Err() != nil:
		return "the client or its connection has gone"
	}
	return "the client closed it"
}
