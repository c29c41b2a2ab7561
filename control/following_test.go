package control_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/weftmesh/weft/sidecar/attach"
)

// allFollow starts sidecars, and waits until all have what they are to have.
func (p *plane) allFollow(t testing.TB, sidecars []fleetSidecar) {
	t.Helper()
	var names []string
	for _, s := range sidecars {
		names = append(names, s.Name)
	}
	p.fleet(t, sidecars)
	for before := 0; before < len(names); { // each step waits a minute
		eventually(t, fmt.Sprintf("more than %d of %d sidecars follow", before, len(names)), func() bool {
			time.Sleep(200 * time.Millisecond) // to count them takes time from those who follow
			_, now, _ := p.Fleet(names)
			more := now > before
			before = now
			return more
		})
	}
}

// drift is the life of a fleet that speaks plaintext: its sidecars share few connections, and
// confirm what they get unread.
func (of fleetOf) drift() error {
	for some := range slices.Chunk(of.Sidecars, 50) { // a connection carries 128 streams, and each may have two
		conn, err := grpc.NewClient(of.XDS, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20)))
		if err != nil {
			return err
		}
		for _, s := range some {
			stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(context.Background())
			if err != nil {
				return err
			}
			go confirms(stream, "default."+s.Name)
			if len(s.Tables) > 0 {
				go reports(conn, "default."+s.Name, s.Tables)
			}
		}
	}
	select {} // until it is killed
}

// reports tells, as an agent does, each ten seconds of requests by the tables.
func reports(conn *grpc.ClientConn, node string, tables []string) {
	stream, err := attach.NewSidecarClient(conn).Attach(context.Background())
	if err != nil {
		return
	}
	_ = stream.Send(&attach.Up{Is: &attach.Up_Hello{Hello: &attach.Hello{NodeId: node, Version: "test"}}})
	go func() {
		for {
			if _, err := stream.Recv(); err != nil {
				return
			}
		}
	}()
	for n := uint32(0); ; n++ {
		t := &attach.Traffic{Milliseconds: 10_000, ErrorsPpm: 1_000_000}
		for i, table := range tables {
			name := ""
			if n == 0 {
				name = table
			}
			completed := 100 + uint32(len(node)*7+i*131)%900
			t.Tables = append(t.Tables, &attach.Table{Number: uint32(i + 1), Name: name, Others: &attach.Slot{Completed: completed, Failed: completed / 100 * (n % 3), Durations: []uint32{completed, 0, 0, 0, 0, 0, 0, 0}}})
		}
		if stream.Send(&attach.Up{Is: &attach.Up_Traffic{Traffic: t}}) != nil {
			return
		}
		time.Sleep(10 * time.Second)
	}
}

// confirms subscribes to everything that a node is told of, and confirms what it gets.
func confirms(stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, node string) {
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
	}
}
