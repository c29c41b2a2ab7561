package server_test

import (
	"fmt"
	"io"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server"
)

// TestTypesOfAStreamAreBounded: requests of types that weft has nothing of do
// not reach the engine, which would keep the names of each for good.
func TestTypesOfAStreamAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	recv := func() (*discoveryv3.DiscoveryRequest, error) {
		n++
		switch n {
		case 100:
			return &discoveryv3.DiscoveryRequest{TypeUrl: resource.ClusterType}, nil
		case 101:
			return nil, io.EOF
		}
		return &discoveryv3.DiscoveryRequest{TypeUrl: fmt.Sprint("unknown-", n), ResourceNames: []string{"a"}}, nil
	}
	first := &discoveryv3.DiscoveryRequest{TypeUrl: "unknown-0"}
	if q, err := server.Next(&first, recv); err != nil || q.TypeUrl != resource.ClusterType || n != 100 {
		t.Errorf("request %d: %v, %v", n, q, err)
	}
	if _, err := server.Next(&first, recv); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
