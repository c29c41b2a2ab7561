package attached

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
)

// stream is that of one agent. One goroutine sends, one receives.
type stream struct {
	server *Server
	name   api.Ref // as the sidecar calls it
	hello  *attach.Hello
	who    authn.Identity // by the token that opened it
	since  time.Time
	ctx    context.Context
	end    context.CancelCauseFunc

	wake    chan struct{}  // has a token while names or authorities may be others
	asks    chan *question // the next question
	turn    chan struct{}  // has a token while a question is under way
	certify atomic.Bool    // the agent is to be asked for a new certificate

	mu      sync.Mutex
	current *question // whose answer is awaited
}

// Attach is the life of a stream: who is it, then all else.
func (s *Server) Attach(g attach.Sidecar_AttachServer) error {
	err := s.attach(g)
	if err != nil && g.Context().Err() == nil {
		s.opts.Logger.Warn("the stream of an agent ended", "address", streams.AddressOf(g.Context()), "error", status.Convert(err).Message())
	}
	return err
}

func (s *Server) attach(g attach.Sidecar_AttachServer) error {
	if !s.opts.Ready() {
		return streams.ErrEarly
	}
	who, err := authn.Authenticate(g.Context(), s.opts.Authenticator)
	if err != nil {
		s.opts.Refused("", err)
		return err
	}
	first, err := streams.Await(g.Context(), s.opts.FirstMessage, g.Recv)
	if err != nil {
		return err
	}
	ref, err := who.Claim(first.GetHello().GetNodeId(), s.opts.Known)
	if err != nil {
		s.opts.Refused(first.GetHello().GetNodeId(), err)
		return err
	}
	ctx, end := context.WithCancelCause(g.Context())
	defer end(nil)
	defer who.Expire(end)()
	st := &stream{server: s, name: called(ref), hello: first.GetHello(), who: who, since: time.Now(), ctx: ctx, end: end,
		wake: make(chan struct{}, 1), asks: make(chan *question), turn: make(chan struct{}, 1)}
	if err := s.join(st); err != nil {
		return err
	}
	defer func() { s.leave(st); s.opts.SidecarChanged(st.name) }()
	s.opts.SidecarChanged(st.name)
	if _, err := authn.Authenticate(g.Context(), s.opts.Authenticator); err != nil {
		return err // revoked in between
	}
	go st.receive(g) // ends with the stream at the latest
	st.look()
	return st.send(g)
}

// bounded reports whether a certificate has no more parts and bytes than one may have.
func bounded(c *attach.Certificate) bool {
	size := len(c.GetProof())
	for _, der := range c.GetChain() {
		size += len(der)
	}
	return len(c.GetChain()) <= attach.MostCertificates && size <= attach.LargestChain
}

// look has the stream find out what is new.
func (st *stream) look() {
	select {
	case st.wake <- struct{}{}:
	default:
	}
}

// receive takes answers until the client goes.
func (st *stream) receive(g attach.Sidecar_AttachServer) {
	counted := st.server.opts.Traffic(st.name)
	for {
		up, err := g.Recv()
		if err != nil {
			st.end(nil)
			return
		}
		if a := up.GetAnswer(); a != nil {
			st.answered(a)
		}
		if c := up.GetCertificate(); c != nil && bounded(c) {
			st.server.opts.Certified(st.name, c)
		}
		if c := up.GetConnections(); c != nil {
			st.server.opts.Connected(st.name, c)
		}
		if t := up.GetTraffic(); t != nil {
			counted(t)
		}
	}
}

// told is what a stream was told last.
type told struct {
	authority []byte
	names     *attach.Names
	every     uint32
	metrics   *attach.Metrics
}

// send sends what there is to say, until the stream ends.
func (st *stream) send(g attach.Sidecar_AttachServer) error {
	last := told{every: attach.ReportEverySeconds}
	for {
		select {
		case <-st.ctx.Done():
			if cause := context.Cause(st.ctx); status.Code(cause) != 0 && cause != context.Canceled {
				return cause
			}
			return nil
		case q := <-st.asks:
			if err := g.Send(&attach.Down{Is: &attach.Down_Ask{Ask: &attach.Ask{Id: q.id, Path: q.path}}}); err != nil {
				return err
			}
		case <-st.wake:
			for _, m := range st.news(&last) {
				if err := g.Send(m); err != nil {
					return err
				}
			}
		}
	}
}

// news are the messages of what is other than was told last.
func (st *stream) news(last *told) (out []*attach.Down) {
	if st.certify.Swap(false) {
		out = append(out, &attach.Down{Is: &attach.Down_Certify{Certify: &attach.Certify{}}})
	}
	st.server.mu.Lock()
	pem, every := st.server.authority, st.server.every
	st.server.mu.Unlock()
	if len(pem) > 0 && !bytes.Equal(pem, last.authority) {
		last.authority = pem
		out = append(out, &attach.Down{Is: &attach.Down_Ca{Ca: &attach.Authorities{Pem: pem}}})
	}
	if !st.server.opts.Counts(st.name) {
		every = 0
	}
	if every != last.every {
		last.every = every
		out = append(out, &attach.Down{Is: &attach.Down_Report{Report: &attach.Report{EverySeconds: every}}})
	}
	if m := st.server.opts.Metrics(st.name); !proto.Equal(m, last.metrics) {
		last.metrics = m
		if m == nil {
			m = &attach.Metrics{} // nothing any more
		}
		out = append(out, &attach.Down{Is: &attach.Down_Metrics{Metrics: m}})
	}
	if !st.hello.GetNames() {
		return out
	}
	names := st.server.opts.Names(st.name)
	if names == nil || last.names != nil && names.GetVersion() == last.names.GetVersion() {
		return out
	}
	what := names
	if last.names != nil && st.hello.GetChanges() {
		what = st.server.steps.between(last.names, names)
	}
	last.names = names
	return append(out, &attach.Down{Is: &attach.Down_Names{Names: what}})
}
