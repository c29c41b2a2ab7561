package server

import (
	"context"
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
)

// The forms of the protocol.
const (
	Delta           = "delta"
	StateOfTheWorld = "sotw"
)

type fullStream = discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer
type deltaStream = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesServer

// StreamAggregatedResources serves the state-of-the-world form.
func (s *Server) StreamAggregatedResources(g fullStream) error {
	return session(s, g.Context(), StateOfTheWorld, g.Recv, func(ctx context.Context, st *stream, first *discoveryv3.DiscoveryRequest) error {
		engine := sotw.NewServer(ctx, st, nil, sotw.WithOrderedADS())
		return engine.StreamHandler(&sotwRequests{g, ctx, st, first}, resource.AnyType)
	})
}

// DeltaAggregatedResources serves the delta form.
func (s *Server) DeltaAggregatedResources(g deltaStream) error {
	return session(s, g.Context(), Delta, g.Recv, func(ctx context.Context, st *stream, first *discoveryv3.DeltaDiscoveryRequest) error {
		engine := delta.NewServer(ctx, st, nil)
		return engine.DeltaStreamHandler(&deltaRequests{g, ctx, st, first}, resource.AnyType)
	})
}

// session is the life of a stream: who is it, then all else.
func session[Q interface{ GetNode() *corev3.Node }](
	s *Server, parent context.Context, form string, recv func() (Q, error), run func(context.Context, *stream, Q) error,
) error {
	if _, ok := s.Revision(); !ok {
		return ErrEarly
	}
	who, err := Authenticate(parent, s.opts.Authenticator)
	if err != nil {
		first, _ := Await(parent, claimWait, recv)
		return s.refuse(parent, first.GetNode(), err)
	}
	first, err := Await(parent, s.opts.FirstRequest, recv)
	if err != nil {
		return s.refuse(parent, nil, err)
	}
	ref, err := who.Claim(first.GetNode().GetId(), s.known)
	if err != nil {
		return s.refuse(parent, first.GetNode(), err)
	}
	ctx, end := context.WithCancelCause(parent)
	defer end(nil)
	defer who.Expire(end)()
	st := newStream(s, peerOf(ref, form, first.GetNode(), s.streams.Add(1)), end)
	st.token = who.Token
	if err := s.join(st); err != nil {
		return s.refuse(parent, first.GetNode(), err)
	}
	defer s.leave(st)
	defer st.close()
	if _, err := Authenticate(parent, s.opts.Authenticator); err != nil {
		return s.refuse(parent, first.GetNode(), err) // revoked in between
	}
	if ref.Resolve(s.known) != ref {
		return errRenamed // it appeared in between
	}
	s.opts.Observer.Connected(st.peer)
	log := s.opts.Logger.With("dataplane", ref.String(), "address", AddressOf(parent), "stream", st.peer.Stream)
	log.Info("connected", "protocol", form, "client", st.peer.Client, "version", st.peer.Version)
	s.queue.add(st) // and not here: rendering would leave this goroutine a large stack for the stream's whole life
	err = st.guard(func() error { return run(ctx, st, first) })
	if parent.Err() == nil && ctx.Err() != nil {
		err = context.Cause(ctx) // the library takes the end of its context for a good end
	}
	s.opts.Observer.Disconnected(st.peer, err)
	log.Info("disconnected", "after", time.Since(st.since).Round(time.Millisecond), "why", reason(parent, err))
	return err
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

// peerOf is what a node says of itself.
func peerOf(ref api.Ref, form string, node *corev3.Node, n uint64) Peer {
	p := Peer{Dataplane: ref, Stream: n, Protocol: form,
		Client: cut(node.GetUserAgentName(), keptClaim), Version: cut(node.GetUserAgentVersion(), keptClaim)}
	if v := node.GetUserAgentBuildVersion().GetVersion(); v != nil {
		p.Version = versionOf(v.GetMajorNumber(), v.GetMinorNumber(), v.GetPatch())
	}
	about := node.GetMetadata().GetFields()["version"].GetStructValue().GetFields()
	p.Agent = about["weft"].GetStringValue()
	if p.Agent == "" { // a kuma-dp says it so (spec/kuma.md 6)
		p.Agent = about["kumaDp"].GetStructValue().GetFields()["version"].GetStringValue()
	}
	return p
}
