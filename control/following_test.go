package control_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// follow opens a stream as each node, over few connections, and returns when each was told of
// all that it is told of first, and has confirmed it.
func (p *plane) follow(t testing.TB, nodes []string) {
	t.Helper()
	var synced atomic.Int64
	for some := range slices.Chunk(nodes, 100) {
		conn, err := grpc.NewClient(p.XDS(), grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		for _, node := range some {
			stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			go confirms(stream, node, &synced)
		}
	}
	for range 10 { // each waits a minute
		before := synced.Load()
		if before == int64(len(nodes)) {
			break
		}
		eventually(t, "more sidecars follow", func() bool { return synced.Load() > before+500 || synced.Load() == int64(len(nodes)) })
	}
	eventually(t, "all sidecars follow", func() bool { return synced.Load() == int64(len(nodes)) })
}

// confirms subscribes to everything that a node is told of, and confirms what it gets.
func confirms(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, node string, synced *atomic.Int64) {
	const of = "type.googleapis.com/envoy.config."
	const clusters, listeners, endpoints, routes = of + "cluster.v3.Cluster", of + "listener.v3.Listener", of + "endpoint.v3.ClusterLoadAssignment", of + "route.v3.RouteConfiguration"
	_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters, Node: &corev3.Node{Id: node, UserAgentName: "envoy", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "test"}}})
	have := map[string]bool{}
	for {
		r, err := stream.Recv()
		if err != nil {
			return
		}
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce})
		if have[r.TypeUrl] {
			continue
		}
		have[r.TypeUrl] = true
		if r.TypeUrl == clusters {
			var eds, rds []string
			for _, c := range r.Resources {
				rds = append(rds, c.Name)
				if !strings.HasPrefix(c.Name, "inbound:") {
					eds, rds[len(rds)-1] = append(eds, c.Name), "outbound:"+c.Name
				}
			}
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: eds})
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: listeners})
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: routes, ResourceNamesSubscribe: rds})
		}
		if len(have) == 4 {
			synced.Add(1)
		}
	}
}
