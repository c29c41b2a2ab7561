package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	grpcxds "google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// grpcClient calls through gRPC's own xDS client.
func (p *plane) grpcClient(node, target string) *grpc.ClientConn {
	p.t.Helper()
	config, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{"server_uri": p.addr.String(), "server_features": []string{"xds_v3"},
			"channel_creds": []any{map[string]any{"type": "insecure"}}}},
		"node": map[string]any{"id": node},
	})
	if err != nil {
		p.t.Fatal(err)
	}
	builder, err := grpcxds.NewXDSResolverWithConfigForTesting(config)
	if err != nil {
		p.t.Fatal(err)
	}
	conn, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(builder))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// TestGRPCClientIsServed: gRPC's own xDS client is a dataplane like any other,
// gets the form that it understands, and follows a change of backend (spec/xds.md 11).
func TestGRPCClientIsServed(t *testing.T) {
	t.Parallel()
	pay, a := envoytest.StartBackend(t, "pay"), envoytest.StartBackend(t, "a")
	grpcService := func(name string, target uint32) string {
		return fmt.Sprintf("type: MeshService\nmesh: default\nname: %s\nspec:\n  selector: {dataplaneTags: {app: %s}}\n  ports: [{port: 9000, targetPort: %d, appProtocol: grpc}]\n", name, name, target)
	}
	route := func(backend string) string {
		return fmt.Sprintf("type: MeshHTTPRoute\nmesh: default\nname: to-pay\nspec:\n  targetRef: {kind: Mesh}\n  to:\n  - targetRef: {kind: MeshService, name: pay}\n    rules:\n    - matches: [{path: {type: PathPrefix, value: /}}]\n      default: {backendRefs: [{kind: MeshService, name: %s, port: 9000}]}\n", backend)
	}
	p := serve(t, nil, exclusive, grpcService("pay", pay.Port), grpcService("a", a.Port), member("pay", pay.Port), member("a", a.Port),
		"type: Dataplane\nmesh: default\nname: client\nnetworking:\n  address: 127.0.0.1\n  outbound:\n  - {address: 127.0.0.1, port: 20001, backendRef: {kind: MeshService, name: pay, port: 9000}}\n")
	conn := p.grpcClient("default.client", "xds:///pay:9000")
	call := func() string {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		var header metadata.MD
		if err := conn.Invoke(ctx, "/pay.Pay/Do", &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header), grpc.WaitForReady(true)); err != nil {
			return err.Error()
		}
		return header.Get(envoytest.NameHeader)[0]
	}
	if got := call(); got != "pay" {
		t.Errorf("%q answers, want pay", got)
	}
	if s := p.synced("client"); s.Protocol != syncstatus.StateOfTheWorld || s.Client == "envoy" {
		t.Errorf("status %+v", s)
	}
	p.apply(route("a"))
	deadline := time.Now().Add(patience)
	for call() != "a" {
		if time.Now().After(deadline) {
			t.Fatalf("%q answers, want a", call())
		}
	}
	p.synced("client")
	for n := 1; n > 0; time.Sleep(5 * time.Millisecond) { // pay, to which it does not subscribe any more
		if n = p.Retained(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}); time.Now().After(deadline) {
			t.Fatalf("%d clusters are kept for it", n)
		}
	}
}
