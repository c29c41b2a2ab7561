package server

import (
	"bytes"
	"context"
	"iter"
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/push"
	"github.com/weftmesh/weft/xds/server/streams"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// source is the part of a resolve.Model that streams read.
type source interface {
	Dataplane(api.Ref) (*effective.Resolved, bool)
}

// published is one publication.
type published struct {
	source   source
	revision uint64
}

// Server serves the newest publication to all sidecars.
type Server struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer

	opts    Options
	queue   *queue
	sends   *sendLimit
	current atomic.Pointer[published] // nil before the first publication
	streams atomic.Uint64             // counts streams for Peer.Stream
	running sync.WaitGroup            // of streams

	mu       sync.Mutex
	refusing bool // new streams
	closed   bool
	peers    map[api.Ref]*peer
	order    []*peer // those of peers, sorted by ref; nil where they are not known
	tables   routeTables
}

// peer is what is known of one dataplane, connected or not.
type peer struct {
	streams []*stream            // oldest first
	last    syncstatus.Status    // of the last stream that ended; of whom in any case
	history push.DataplaneRecord // of its streams
}

// New makes a server that refuses streams until something is published.
func New(o Options) *Server {
	if o.Observer == nil {
		o.Observer = syncstatus.NoObserver{}
	}
	if o.Sends == 0 {
		o.Sends = 4 * runtime.GOMAXPROCS(0)
	}
	s := &Server{opts: o, sends: newSendLimit(o.Sends), peers: map[api.Ref]*peer{}}
	s.queue = newQueue(runtime.GOMAXPROCS(0))
	return s
}

// Register offers the server's service on g.
func (s *Server) Register(g grpc.ServiceRegistrar) {
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(g, s)
}

// StreamAggregatedResources serves the state-of-the-world form.
func (s *Server) StreamAggregatedResources(g fullStream) error { return serveFull(s, g) }

// DeltaAggregatedResources serves the delta form.
func (s *Server) DeltaAggregatedResources(g deltaStream) error { return serveDelta(s, g) }

// Publish makes m what is served. It wakes the streams of the dataplanes that
// affected names and returns without waiting for them; what a stream has not
// picked up before the next publication it never sees.
func (s *Server) Publish(m *resolve.Model, affected resolve.Affected) {
	p := &published{m, m.Snapshot().Revision()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.current.Store(p)
	for _, ref := range affected.Dataplanes {
		s.rename(ref)
		peer := s.peers[ref]
		if peer == nil {
			continue
		}
		for _, st := range peer.streams {
			s.queue.add(st)
		}
		if len(peer.streams) == 0 {
			if _, ok := p.source.Dataplane(ref); !ok {
				s.forget(ref)
			}
		}
	}
}

// rename ends the streams that wait for ref under its full name, so that they
// come back as what they are. It needs mu.
func (s *Server) rename(ref api.Ref) {
	waiting := api.Ref{Kind: ref.Kind, Mesh: ref.Mesh, Name: ref.FullName()}
	peer := s.peers[waiting]
	if peer == nil || waiting == ref || waiting.Resolve(s.known) != ref {
		return
	}
	for _, st := range peer.streams {
		st.end(errRenamed)
	}
}

// Revision is that of the newest publication, and false before the first one.
func (s *Server) Revision() (uint64, bool) {
	p := s.current.Load()
	if p == nil {
		return 0, false
	}
	return p.revision, true
}

// known reports whether there is such a dataplane.
func (s *Server) known(ref api.Ref) bool {
	_, ok := s.current.Load().source.Dataplane(ref)
	return ok
}

// Status is how far a dataplane's sidecar is; false if it was never connected
// since this server started.
func (s *Server) Status(dp api.Ref) (syncstatus.Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[dp]
	if p == nil {
		return syncstatus.Status{}, false
	}
	return p.status((*stream).status), true
}

// Brief is Status without the counts of types, for questions about very many.
func (s *Server) Brief(dp api.Ref) (syncstatus.Status, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.peers[dp]
	if p == nil {
		return syncstatus.Status{}, false
	}
	return p.status((*stream).brief), true
}

// status is what of says of the newest stream, or what is known of the last one. It needs mu
// of the server.
func (p *peer) status(of func(*stream) syncstatus.Status) syncstatus.Status {
	if n := len(p.streams); n > 0 {
		out := of(p.streams[n-1])
		out.Streams = n
		return out
	}
	return p.last
}

// Known is how many dataplanes Peers yields.
func (s *Server) Known() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.peers)
}

// someAtOnce is how many dataplanes Peers looks at while others wait.
const someAtOnce = 256

// Peers yields what Brief says of all dataplanes that are or were connected, in the order of
// their refs.
func (s *Server) Peers() iter.Seq[syncstatus.Status] {
	return func(yield func(syncstatus.Status) bool) {
		s.mu.Lock()
		if s.order == nil {
			s.order = slices.SortedFunc(maps.Values(s.peers), func(a, b *peer) int { return a.last.Dataplane.Compare(b.last.Dataplane) })
		}
		order := s.order
		s.mu.Unlock()
		some := make([]syncstatus.Status, 0, someAtOnce)
		for peers := range slices.Chunk(order, someAtOnce) {
			some = some[:0]
			s.mu.Lock()
			for _, p := range peers {
				if s.peers[p.last.Dataplane] == p {
					some = append(some, p.status((*stream).brief))
				}
			}
			s.mu.Unlock()
			for i := range some {
				if !yield(some[i]) {
					return
				}
			}
		}
	}
}

// forget takes a dataplane away of which nothing is known any more. It needs mu.
func (s *Server) forget(dp api.Ref) {
	delete(s.peers, dp)
	s.order = nil
}

// join makes st one of its dataplane's streams.
func (s *Server) join(st *stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refusing {
		return streams.ErrClosed
	}
	p := s.peers[st.peer.Dataplane]
	if p == nil {
		p = &peer{last: syncstatus.Status{Dataplane: st.peer.Dataplane}}
		s.peers[st.peer.Dataplane], s.order = p, nil
	}
	if len(p.streams) >= s.opts.StreamsPerIdentity {
		return status.Errorf(codes.ResourceExhausted, "%s has %d streams already; close one first",
			st.peer.Dataplane, len(p.streams))
	}
	if n := len(p.streams); n > 0 {
		p.streams[n-1].keep(&p.history)
	}
	st.push.Resume(&p.history, p.last.Nack)
	p.streams = append(p.streams, st)
	s.running.Add(1)
	return nil
}

// leave forgets st, but not what it learned.
func (s *Server) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.running.Done()
	p := s.peers[st.peer.Dataplane]
	p.streams = slices.DeleteFunc(p.streams, func(x *stream) bool { return x == st })
	s.tables.changed.Add(1)
	p.last = st.status()
	st.keep(&p.history)
	p.last.Connected, p.last.InSync, p.last.Until = false, false, time.Now()
	if _, ok := s.current.Load().source.Dataplane(st.peer.Dataplane); !ok && len(p.streams) == 0 {
		s.forget(st.peer.Dataplane)
	}
}

// Revoke ends the streams that were opened with one of these tokens. The
// authenticator refuses them already, so none comes back.
func (s *Server) Revoke(tokens ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.peers {
		for _, st := range p.streams {
			if st.token != "" && slices.Contains(tokens, st.token) {
				st.end(authn.ErrRevoked)
			}
		}
	}
}

// RevokeOf ends those streams of one dataplane that were opened with a token of which which
// says so; others are not looked at.
func (s *Server) RevokeOf(dp api.Ref, which func(token string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := api.Ref{Kind: dp.Kind, Mesh: dp.Mesh, Name: dp.FullName()} // of one that was not known
	for _, ref := range []api.Ref{dp, waiting} {
		if p := s.peers[ref]; p != nil {
			for _, st := range p.streams {
				if which(st.token) {
					st.end(authn.ErrRevoked)
				}
			}
		}
	}
}

// Shutdown ends all streams, so that their clients turn to another server, and
// waits until they are gone or ctx is over: a client that does not read keeps
// its stream until its connection is closed.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.refusing, s.closed = true, true
	for _, p := range s.peers {
		for _, st := range p.streams {
			st.end(streams.ErrClosed)
		}
	}
	s.mu.Unlock()
	return streams.Gone(ctx, func() {
		s.running.Wait()
		s.queue.wait()
	})
}

// Drain ends all streams one after the other, over a time at most, or until ctx is over, so
// that their clients turn to another server little by little. New ones are refused at once;
// those that are left are served on.
func (s *Server) Drain(ctx context.Context, over time.Duration) {
	s.mu.Lock()
	s.refusing = true
	refs := slices.SortedFunc(maps.Keys(s.peers), api.Ref.Compare)
	s.mu.Unlock()
	streams.Spread(ctx, over, refs, func(ref api.Ref) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if p := s.peers[ref]; p != nil {
			for _, st := range p.streams {
				st.end(streams.ErrClosed)
			}
		}
	})
}

// Give serves a secret on one stream of a dataplane, by the number of the stream, and on no
// other, instead of the one that it was given before; false where the stream is over.
func (s *Server) Give(dp api.Ref, number uint64, secret *resource.Resource) bool {
	s.mu.Lock()
	var st *stream
	if p := s.peers[dp]; p != nil {
		if i := slices.IndexFunc(p.streams, func(x *stream) bool { return x.peer.Stream == number }); i >= 0 {
			st = p.streams[i]
		}
	}
	s.mu.Unlock()
	return st != nil && st.give(secret)
}

// Sent is what the newest stream of a dataplane was sent of what it should have, in the
// form of Envoy's config_dump and without secrets; false where there is no stream.
func (s *Server) Sent(dp api.Ref) ([]byte, bool, error) {
	s.mu.Lock()
	p := s.peers[dp]
	if p == nil || len(p.streams) == 0 {
		s.mu.Unlock()
		return nil, false, nil
	}
	st := p.streams[len(p.streams)-1]
	s.mu.Unlock()
	text, err := resource.Dump(st.sent())
	if err != nil {
		return nil, true, err
	}
	var out bytes.Buffer
	err = attach.Redact(&out, bytes.NewReader(text))
	return out.Bytes(), true, err
}

// Tables is how many route tables the clients should have, each counted for each stream, and
// how many these are: those that are shared are one. They are counted when something changed.
func (s *Server) Tables() (held, distinct int) {
	return s.tables.count(func() (all []*stream) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, p := range s.peers {
			all = append(all, p.streams...)
		}
		return all
	})
}
