package scale_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

const types = "type.googleapis.com/envoy.config."

const (
	listeners = types + "listener.v3.Listener"
	clusters  = types + "cluster.v3.Cluster"
	endpoints = types + "endpoint.v3.ClusterLoadAssignment"
	routes    = types + "route.v3.RouteConfiguration"
)

// sidecars are streams as Envoys open them, each over a connection of its own.
type sidecars struct {
	synced  atomic.Int32
	changed atomic.Int32 // answers of routes after all were synced
	group   sync.WaitGroup
}

// connect opens a stream as each node, and keeps trying while nobody answers.
func connect(ctx context.Context, t *testing.T, address string, nodes []string) *sidecars {
	t.Helper()
	s := &sidecars{}
	for _, id := range nodes {
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64<<20), grpc.WaitForReady(true)),
			grpc.WithReadBufferSize(8<<10), grpc.WithWriteBufferSize(4<<10),
			grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 200 * time.Millisecond, Multiplier: 1.2, MaxDelay: time.Second}}))
		if err != nil {
			t.Fatal(err)
		}
		s.group.Go(func() {
			defer conn.Close()
			for ctx.Err() == nil {
				s.stream(ctx, conn, id)
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	return s
}

// stream subscribes to everything, and to the endpoints and routes of what it is told of.
func (s *sidecars) stream(ctx context.Context, conn *grpc.ClientConn, id string) {
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(conn).DeltaAggregatedResources(ctx)
	if err != nil {
		return
	}
	node := &corev3.Node{Id: id, UserAgentName: "envoy", UserAgentVersionType: &corev3.Node_UserAgentVersion{UserAgentVersion: "test"}}
	_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{Node: node, TypeUrl: clusters})
	have := map[string]bool{}
	for {
		r, err := stream.Recv()
		if err != nil {
			return
		}
		_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: r.TypeUrl, ResponseNonce: r.Nonce})
		if have[r.TypeUrl] {
			if r.TypeUrl == routes {
				s.changed.Add(1)
			}
			continue
		}
		have[r.TypeUrl] = true
		switch r.TypeUrl {
		case clusters:
			var eds, rds []string
			for _, c := range r.Resources {
				if !strings.HasPrefix(c.Name, "inbound:") {
					eds, rds = append(eds, c.Name), append(rds, "outbound:"+c.Name)
				} else {
					rds = append(rds, c.Name)
				}
			}
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints, ResourceNamesSubscribe: eds})
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: listeners})
			_ = stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: routes, ResourceNamesSubscribe: rds})
		}
		if len(have) == 4 {
			s.synced.Add(1)
		}
	}
}
