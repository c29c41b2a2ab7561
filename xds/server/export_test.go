package server

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server/push"
)

// Next is what a stream gives to the engine of the protocol.
var Next = next[*discoveryv3.DiscoveryRequest]

// Looked is at how many resources the streams of a dataplane have looked for responses.
func (s *Server) Looked(dp api.Ref) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, st := range s.peers[dp].streams {
		n += st.work().Looked
	}
	return n
}

// Retained is how many clusters the streams of a dataplane keep that it should no longer have.
func (s *Server) Retained(dp api.Ref) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, st := range s.peers[dp].streams {
		n += st.work().Retained
	}
	return n
}

// Idle reports whether no stream of a dataplane has anything to send, awaits an
// answer, or will do something at a later time.
func (s *Server) Idle(dp api.Ref) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.peers[dp] == nil {
		return true
	}
	for _, st := range s.peers[dp].streams {
		if !st.work().Idle {
			return false
		}
	}
	return true
}

// work is what the stream has done and has to do.
func (st *stream) work() push.Work {
	st.mu.Lock()
	defer st.mu.Unlock()
	w := st.push.Work()
	w.Idle = w.Idle && !st.server.queue.has(st)
	return w
}
