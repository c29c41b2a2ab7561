package server_test

import (
	"fmt"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"

	"github.com/weftmesh/weft/xds/server"
)

// names are n that no resource has.
func names(from, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("none-%d", from+i)
	}
	return out
}

// TestSubscriptionsAreBounded: a client cannot fill the memory with names, all
// at once or little by little; that of a very large sidecar is served.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.StreamsPerIdentity = 10 })
	const portion = 10_000
	long := strings.Repeat("x", 2000)

	c := p.delta("default.front", "")
	c.configure()
	for i := range 3 {
		c.ask("rds", nil, names(i*portion, portion)...)
	}
	c.quiet("thousands of names")
	c.ask("rds", nil, names(3*portion, portion)...)
	if code, _ := c.ended(); code != codes.ResourceExhausted {
		t.Errorf("delta, little by little: %v", code)
	}
	for what, q := range map[string]*discoveryv3.DeltaDiscoveryRequest{
		"at once":      {ResourceNamesSubscribe: names(0, 4*portion)},
		"a long name":  {ResourceNamesSubscribe: []string{long}},
		"brought long": {InitialResourceVersions: map[string]string{"a": long}},
	} {
		c := p.delta("default.front", "")
		q.TypeUrl = short["rds"]
		c.send(q)
		if code, _ := c.ended(); code != codes.ResourceExhausted {
			t.Errorf("delta, %s: %v", what, code)
		}
	}

	for what, list := range map[string][]string{"at once": names(0, 4*portion), "a long name": {long}} {
		s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(dial(t, p.addr)).StreamAggregatedResources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&discoveryv3.DiscoveryRequest{Node: node("default.front"), TypeUrl: short["cds"]})
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		_ = s.Send(&discoveryv3.DiscoveryRequest{TypeUrl: short["rds"], ResourceNames: list})
		if _, err := s.Recv(); grpcstatus.Code(err) != codes.ResourceExhausted {
			t.Errorf("state of the world, %s: %v", what, err)
		}
	}
}
