// Package attached serves the streams of the agents of sidecars: weft.v1.Sidecar,
// on the port of ADS and under the same credential (spec/contract.md 7). By it an agent hears
// names and authorities as they change, and answers what users ask of its Envoy.
//
// It promises that identity comes before everything else, that each list goes out once
// and only when it has changed, that a sidecar is asked one thing at a time, and that a
// slow or silent agent holds back only who asked it. It knows nothing of what names
// and answers mean.
package attached

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/streams"
)

// Options is how a Server runs.
type Options struct {
	Logger        *slog.Logger
	Authenticator authn.Authenticator
	// Ready says that something is published, so that names are known.
	Ready func() bool
	// Known reports whether there is such a dataplane now.
	Known func(api.Ref) bool
	// Names are those for a dataplane as they are now, the whole list sorted by name, nil for
	// none; equal lists have equal versions. It is asked by many goroutines, and what it
	// answers never changes.
	Names func(api.Ref) *attach.Names
	// Metrics is what the agent of a dataplane is to tell of what is counted, nil for nothing. What it answers
	// never changes.
	Metrics func(api.Ref) *attach.Metrics
	// Certified is told which certificate the agent of a dataplane, as it calls it, shows: that
	// it is proved, nobody has looked at yet.
	Certified func(api.Ref, *attach.Certificate)
	// Connected is told which connections its inbounds have.
	Connected func(api.Ref, *attach.Connections)
	// Traffic is given each stream that begins, of a dataplane as its agent calls it, and answers what
	// takes the reports of that stream, one after the other.
	Traffic func(api.Ref) func(*attach.Traffic)
	// Counts reports whether a dataplane, as its agent calls it, is to report at all.
	Counts func(api.Ref) bool
	// Refused is told of each stream that is not let in: who it claims to be, empty where nobody said, and
	// why not.
	Refused func(node string, err error)
	// SidecarChanged is told when a dataplane, as its agent calls it, has more or fewer streams.
	SidecarChanged func(api.Ref)
	// StreamsPerIdentity is how many streams one dataplane may have: two, so that a
	// restarted agent need not wait until its predecessor is gone.
	StreamsPerIdentity int
	// FirstMessage is how long a stream may stay silent before it says who it is.
	FirstMessage time.Duration
	// AnswerWithin is how long an answer may take.
	AnswerWithin time.Duration
}

// Default is the configuration of a server for real sidecars, without the parts that
// only the caller has.
func Default() Options {
	return Options{
		Logger: slog.New(slog.DiscardHandler), Authenticator: authn.Anyone{},
		Ready: func() bool { return true }, Known: func(api.Ref) bool { return false }, Names: func(api.Ref) *attach.Names { return nil },
		Metrics:            func(api.Ref) *attach.Metrics { return nil },
		Certified:          func(api.Ref, *attach.Certificate) {},
		Connected:          func(api.Ref, *attach.Connections) {},
		Traffic:            func(api.Ref) func(*attach.Traffic) { return func(*attach.Traffic) {} },
		Counts:             func(api.Ref) bool { return true },
		Refused:            func(string, error) {},
		SidecarChanged:     func(api.Ref) {},
		StreamsPerIdentity: 2, FirstMessage: 10 * time.Second, AnswerWithin: attach.AnswerWithin,
	}
}

// Server keeps the streams of all agents.
type Server struct {
	attach.UnimplementedSidecarServer

	opts    Options
	running sync.WaitGroup
	steps   steps

	mu        sync.Mutex
	closed    bool
	authority []byte // in PEM; empty is none to tell
	every     uint32 // seconds between reports of traffic
	peers     map[api.Ref][]*stream
	resolving map[string]int // dataplanes whose agents have a resolver, by mesh
}

// New makes a server.
func New(o Options) *Server {
	return &Server{opts: o, peers: map[api.Ref][]*stream{}, resolving: map[string]int{}, every: attach.ReportEverySeconds}
}

// Register offers the server's service on g.
func (s *Server) Register(g grpc.ServiceRegistrar) { attach.RegisterSidecarServer(g, s) }

// called is the name by which a sidecar calls its dataplane, whether or not there is
// one: streams are kept by it.
func called(r api.Ref) api.Ref { return api.Ref{Kind: r.Kind, Mesh: r.Mesh, Name: r.FullName()} }

// Publish looks at the names and metrics of these dataplanes again, of which something has changed.
func (s *Server) Publish(dataplanes []api.Ref) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.peers) == 0 {
		return
	}
	for _, ref := range dataplanes {
		for _, st := range s.peers[called(ref)] {
			st.look()
		}
	}
}

// ReportEvery has all agents that report what is counted of requests do that once in a time, of whole seconds.
func (s *Server) ReportEvery(interval time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.every = uint32(interval / time.Second)
	for _, streams := range s.peers {
		for _, st := range streams {
			st.look()
		}
	}
}

// Authorities makes pem what all agents take for the authorities of the control plane.
func (s *Server) Authorities(pem []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.authority = pem
	for _, list := range s.peers {
		for _, st := range list {
			st.look()
		}
	}
}

// Certify asks the agent of a dataplane to have its workload certified now; false where it has
// no stream here.
func (s *Server) Certify(dp api.Ref) bool {
	st := s.newest(dp)
	if st != nil {
		st.certify.Store(true)
		st.look()
	}
	return st != nil
}

// Attached are the dataplanes whose agents have a stream, as they call them.
func (s *Server) Attached() []api.Ref {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.peers))
}

// Stream is what is known of the stream of an agent.
type Stream struct {
	Version string // of the agent
	Since   time.Time
	Names   bool // it has a resolver
}

// Stream is that of a dataplane's agent, the newest of several; false for none.
func (s *Server) Stream(dp api.Ref) (Stream, bool) {
	if st := s.newest(dp); st != nil {
		return Stream{st.hello.GetVersion(), st.since, st.hello.GetNames()}, true
	}
	return Stream{}, false
}

// Who is who opened that stream, by its token; not ok where there is none.
func (s *Server) Who(dp api.Ref) (authn.Identity, bool) {
	if st := s.newest(dp); st != nil {
		return st.who, true
	}
	return authn.Identity{}, false
}

func (s *Server) newest(dp api.Ref) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.peers[called(dp)]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1]
}

// Revoke ends the streams that were opened with one of these tokens. The authenticator
// refuses them already, so none comes back.
func (s *Server) Revoke(tokens ...string) {
	s.end(authn.ErrRevoked, func(st *stream) bool { return st.who.Token != "" && slices.Contains(tokens, st.who.Token) })
}

// RevokeOf ends those streams of one dataplane that were opened with a token of which which
// says so; others are not looked at.
func (s *Server) RevokeOf(dp api.Ref, which func(token string) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.peers[called(dp)] {
		if which(st.who.Token) {
			st.end(authn.ErrRevoked)
		}
	}
}

// Drain ends all streams one after the other: see server.Server.Drain.
func (s *Server) Drain(ctx context.Context, over time.Duration) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	names := s.Attached()
	slices.SortFunc(names, api.Ref.Compare)
	streams.Spread(ctx, over, names, func(name api.Ref) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, st := range s.peers[name] {
			st.end(streams.ErrClosed)
		}
	})
}

// Shutdown ends all streams and waits until they are gone, or ctx is over.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(streams.ErrClosed, func(*stream) bool { return true })
	return streams.Gone(ctx, s.running.Wait)
}

func (s *Server) end(cause error, which func(*stream) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.peers {
		for _, st := range list {
			if which(st) {
				st.end(cause)
			}
		}
	}
}

// join makes st one of its dataplane's streams.
func (s *Server) join(st *stream) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return streams.ErrClosed
	}
	if n := len(s.peers[st.name]); n >= s.opts.StreamsPerIdentity {
		return status.Errorf(codes.ResourceExhausted, "%s has %d streams already; close one first", st.name, n)
	}
	s.keep(st.name, append(s.peers[st.name], st))
	s.running.Add(1)
	return nil
}

func (s *Server) leave(st *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.running.Done()
	left := make([]*stream, 0, s.opts.StreamsPerIdentity)
	for _, x := range s.peers[st.name] {
		if x != st {
			left = append(left, x)
		}
	}
	s.keep(st.name, left)
}

// keep makes list the streams of a dataplane, and counts it as one that resolves names if one
// of them does.
func (s *Server) keep(name api.Ref, list []*stream) {
	if resolves(s.peers[name]) {
		s.resolving[name.Mesh]--
	}
	if resolves(list) {
		s.resolving[name.Mesh]++
	}
	if s.resolving[name.Mesh] == 0 {
		delete(s.resolving, name.Mesh)
	}
	if s.peers[name] = list; len(list) == 0 {
		delete(s.peers, name)
	}
}

func resolves(list []*stream) bool {
	return slices.ContainsFunc(list, func(st *stream) bool { return st.hello.GetNames() })
}

// Resolving is beside how many dataplanes of a mesh names of the mesh resolve.
func (s *Server) Resolving(mesh string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.resolving[mesh]
}
