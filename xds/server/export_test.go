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
