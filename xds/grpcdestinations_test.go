package xds_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/resource"
)

// grpcAnswers is who answers a call of gRPC's own client at target, or with which code
// it fails, for each of n calls.
func grpcAnswers(t *testing.T, state *resource.State, target string, n int) map[string]int {
	t.Helper()
	builder, ads := grpcClient(t, state)
	conn, err := grpc.NewClient("xds:///"+target, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(builder))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	out := map[string]int{}
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		var header metadata.MD
		ctx = metadata.AppendToOutgoingContext(ctx, envoytest.IDHeader, fmt.Sprint(i), envoytest.ScriptHeader, "200")
		err := conn.Invoke(ctx, "/pay.Pay/Get", &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header))
		cancel()
		if code := status.Code(err); code != codes.OK {
			out[code.String()]++
		} else {
			out[strings.Join(header[envoytest.NameHeader], ",")]++
		}
	}
	ads.mu.Lock()
	defer ads.mu.Unlock()
	if len(ads.nacks) > 0 {
		t.Errorf("the client refused: %q", ads.nacks)
	}
	return out
}

func at(b *envoytest.Backend) effective.Endpoint {
	return effective.Endpoint{Address: b.Host, Port: b.Port}
}

// TestGRPCDividesCallsWhereConnectionsAreDivided: the backends of a MeshTCPRoute, of
// any protocol, get the calls of a client without a sidecar, and the share that
// would be closed fails. A destination of bytes has no listener for it.
func TestGRPCDividesCallsWhereConnectionsAreDivided(t *testing.T) {
	t.Parallel()
	v1, v2 := envoytest.StartBackend(t, "v1"), envoytest.StartBackend(t, "v2")
	pay := &effective.Destination{ID: "pay:9000", Kind: api.KindMeshService, Name: "pay", Port: 9000, Protocol: api.GRPC}
	db := &effective.Destination{ID: "db:5432", Kind: api.KindMeshService, Name: "db", Port: 5432, Protocol: api.TCP}
	split := []effective.Backend{to("v1", 1), to("v2", 1), {Kind: api.KindMeshService, Name: "gone", Weight: 1, Broken: effective.Broken{Why: "no such service", Close: true}}}
	r := sidecar(nil, []effective.ClusterUse{use("v1", pay, at(v1)), use("v2", db, at(v2))})
	for _, d := range []*effective.Destination{pay, db} {
		r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: d.Port, Destination: d,
			TCP: &effective.TCPTable{Destination: d, Origins: []*api.Origin{by("tcp")}, BackendsBy: by("tcp"), Backends: split}})
	}
	state := renderer().RenderGRPC(r)
	if d := cmp.Diff([]string{"pay:9000"}, names(state.Listeners)); d != "" {
		t.Fatalf("listeners (-want +got):\n%s", d)
	}
	if len(state.Notes) > 0 {
		t.Errorf("notes: %v", state.Notes)
	}
	seen := grpcAnswers(t, state, "pay:9000", 60)
	if seen["v1"] == 0 || seen["v2"] == 0 || seen["Unavailable"] == 0 || len(seen) != 3 {
		t.Errorf("calls ended as %v, want v1, v2 and Unavailable", seen)
	}
}

// TestGRPCServesHosts: a client without a sidecar calls hosts by their names, each
// by its own table, though the listener of a sidecar has them all at one address.
func TestGRPCServesHosts(t *testing.T) {
	t.Parallel()
	v1, v2 := envoytest.StartBackend(t, "v1"), envoytest.StartBackend(t, "v2")
	pay := &effective.Destination{ID: "pay:9000", Kind: api.KindMeshService, Name: "pay", Port: 9000, Protocol: api.GRPC}
	r := sidecar(nil, []effective.ClusterUse{use("v1", pay, at(v1)), use("v2", pay, at(v2))})
	for host, backend := range map[string]string{"shop.example.org": "v1", "api.example.org": "v2", "none.example.org": ""} {
		d := &effective.Destination{ID: "host_" + host + ":80", Kind: api.KindHost, Name: host, Port: 80, Protocol: api.HTTP, Hostnames: []string{host}}
		all := rest()
		all.Backends = nil
		if backend != "" {
			all.Backends = []effective.Backend{to(backend, 1)}
		}
		r.Outbounds = append(r.Outbounds, &effective.Outbound{Address: "127.0.0.1", Port: 10080, Destination: d,
			Table: &effective.Table{Destination: d, Routes: []*effective.Route{all}}})
	}
	state := renderer().RenderGRPC(r)
	for target, want := range map[string]string{"shop.example.org:80": "v1", "api.example.org:80": "v2", "none.example.org:80": "Unavailable"} {
		if d := cmp.Diff(map[string]int{want: 5}, grpcAnswers(t, state, target, 5)); d != "" {
			t.Errorf("%s (-want +got):\n%s", target, d)
		}
	}
}

// TestGRPCSharesRoutes: all clients of one table have one resource, whether it tells
// requests or connections apart, however often it is asked for.
func TestGRPCSharesRoutes(t *testing.T) {
	t.Parallel()
	pay := &effective.Destination{ID: "pay:9000", Kind: api.KindMeshService, Name: "pay", Port: 9000, Protocol: api.GRPC}
	for name, o := range map[string]*effective.Outbound{
		"requests":    {Cache: effective.NewCache(), Table: &effective.Table{Destination: pay, Routes: []*effective.Route{rest()}}},
		"connections": {Cache: effective.NewCache(), TCP: &effective.TCPTable{Destination: pay, Backends: []effective.Backend{to("v1", 1)}}},
	} {
		routes := map[*resource.Resource]bool{}
		for _, address := range []string{"127.0.0.1", "127.0.0.2", "127.0.0.1"} {
			r := sidecar(nil, nil)
			r.Outbounds = []*effective.Outbound{{Address: address, Port: 9000, Destination: pay, Table: o.Table, TCP: o.TCP, Cache: o.Cache}}
			routes[renderer().RenderGRPC(r).Routes[0]] = true
		}
		if len(routes) != 1 {
			t.Errorf("%s: %d route configurations, want one for all", name, len(routes))
		}
	}
}
