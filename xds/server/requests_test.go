package server

import (
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
)

// saying is a client that says who it is in each request.
type saying struct{ fullStream }

func (saying) Recv() (*discoveryv3.DiscoveryRequest, error) {
	return &discoveryv3.DiscoveryRequest{Node: &corev3.Node{Id: "default.other"}}, nil
}

type sayingParts struct{ deltaStream }

func (sayingParts) Recv() (*discoveryv3.DeltaDiscoveryRequest, error) {
	return &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "default.other"}}, nil
}

// Every request of a stream comes from the node that proved who it is, whatever a
// later one says, and without what an Envoy says of itself: the engine keeps it.
func TestRequestsComeFromTheNodeThatWasAuthenticated(t *testing.T) { // not beside TestNothingIsLeft, which would take it for a leftover
	st := &stream{node: &corev3.Node{Id: "default.web-1"}}
	full := &sotwRequests{fullStream: saying{}, st: st}
	delta := &deltaRequests{deltaStream: sayingParts{}, st: st}
	for range 2 {
		q, err := full.Recv()
		if err != nil || q.Node != st.node {
			t.Errorf("state of the world: from %v, %v", q.GetNode(), err)
		}
		d, err := delta.Recv()
		if err != nil || d.Node != st.node {
			t.Errorf("delta: from %v, %v", d.GetNode(), err)
		}
	}
}
