package server

import (
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/api"
)

// Next is what a stream gives to the engine of the protocol.
var Next = next[*discoveryv3.DiscoveryRequest]

// Looked is at how many resources the streams of a dataplane have looked for responses.
func (s *Server) Looked(dp api.Ref) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, st := range s.peers[dp].streams {
		st.mu.Lock()
		n += st.looked
		st.mu.Unlock()
	}
	return n
}

// Retained is how many clusters the streams of a dataplane keep that it should no longer have.
func (s *Server) Retained(dp api.Ref) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, st := range s.peers[dp].streams {
		st.mu.Lock()
		n += len(st.retained.Clusters)
		st.mu.Unlock()
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
		if !st.idle() {
			return false
		}
	}
	return true
}

func (st *stream) idle() bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	for k := range st.flows {
		if f := &st.flows[k]; f.queued != nil || f.out != nil {
			return false
		}
	}
	return st.due.IsZero() && !st.server.queue.has(st)
}
