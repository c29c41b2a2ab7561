package xds_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/status"
	grpcxds "google.golang.org/grpc/xds"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/resource"
)

// plainADS answers every request of state-of-the-world ADS with the named
// resources of one State: enough for a client that asks once.
type plainADS struct {
	discoveryv3.UnimplementedAggregatedDiscoveryServiceServer
	state *resource.State
	mu    sync.Mutex
	nacks []string
}

func (s *plainADS) StreamAggregatedResources(stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesServer) error {
	asked := map[string]string{}
	for n := 1; ; n++ {
		q, err := stream.Recv()
		if err != nil {
			return err
		}
		if q.ErrorDetail != nil {
			s.mu.Lock()
			s.nacks = append(s.nacks, q.ErrorDetail.Message)
			s.mu.Unlock()
		}
		if wanted := fmt.Sprint(q.ResourceNames); q.ResponseNonce != "" && asked[q.TypeUrl] == wanted {
			continue
		} else {
			asked[q.TypeUrl] = wanted
		}
		a := &discoveryv3.DiscoveryResponse{VersionInfo: "1", TypeUrl: q.TypeUrl, Nonce: strconv.Itoa(n)}
		for _, list := range [][]*resource.Resource{s.state.Listeners, s.state.Routes, s.state.Clusters, s.state.Endpoints} {
			for _, r := range list {
				if r.Type == q.TypeUrl && slices.Contains(q.ResourceNames, r.Name) {
					a.Resources = append(a.Resources, r.Content())
				}
			}
		}
		if err := stream.Send(a); err != nil {
			return err
		}
	}
}

// grpcClient is gRPC's own xDS client with what state gives it.
func grpcClient(t *testing.T, state *resource.State) (resolver.Builder, *plainADS) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ads, server := &plainADS{state: state}, grpc.NewServer()
	discoveryv3.RegisterAggregatedDiscoveryServiceServer(server, ads)
	go server.Serve(l) //nolint:errcheck // ends by Stop
	t.Cleanup(server.Stop)
	config, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri": l.Addr().String(), "server_features": []string{"xds_v3"},
			"channel_creds": []any{map[string]any{"type": "insecure"}},
		}},
		"node": map[string]any{"id": "default.client"},
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := grpcxds.NewXDSResolverWithConfigForTesting(config)
	if err != nil {
		t.Fatal(err)
	}
	return b, ads
}

func fold(t *testing.T, k *policies.Kind, conf policies.Conf) *policies.Effective {
	t.Helper()
	origin := &api.Origin{Ref: api.Ref{Kind: k.Name, Mesh: "default", Name: "p"}, Field: "spec.to[0]"}
	e := k.Resolve([]merge.Layer{{Name: merge.Mesh, Origin: origin, Leaves: k.Schema.Read(conf)}})
	if e == nil {
		t.Fatal("the conf says nothing")
	}
	return e
}

// grpcState is a client of pay with a route for each thing that is to be seen.
func grpcState(t *testing.T, v1, v2 *envoytest.Backend) *resource.State {
	pay := &effective.Destination{ID: "pay:9000", Kind: api.KindMeshService, Name: "pay", Port: 9000, Protocol: api.GRPC, Hostnames: []string{"pay.shop.svc.cluster.local"}}
	second := api.Duration(100 * time.Millisecond)
	three, conditions := uint32(3), []string{"Unavailable"}
	slow := rule("slow", path(match.Equal, "/pay.Pay/Slow"))
	slow.Policies = effective.Policies{fold(t, timeout.Kind, &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &second}})}
	again := rule("again", path(match.Equal, "/pay.Pay/Again"), route.Filter{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "x", Value: "y"}}}})
	again.Policies = effective.Policies{fold(t, retry.Kind, &retry.Conf{GRPC: &retry.GRPC{NumRetries: &three, RetryOn: conditions}})}
	other := rule("other", matches.Of(matches.On(match.OnPath, match.SegmentPrefix, "", "/pay.Other"),
		matches.Must(match.Among(match.OnMethod, "", "POST", "PUT"))))
	other.Backends = []effective.Backend{to("v2", 1)}
	gone := rule("gone", matches.Of(matches.On(match.OnPath, match.SegmentPrefix, "", "/gone"), matches.Method("POST")))
	gone.Backends = []effective.Backend{to("v2", 1), broken(1)}
	get := rule("get", matches.Of(matches.Method("GET")))
	get.Backends = []effective.Backend{broken(1)}
	last := rest()
	last.Backends = []effective.Backend{to("v1", 1)}
	table := &effective.Table{Destination: pay, Routes: []*effective.Route{slow, again, other, gone, get, last}}
	return renderer().RenderGRPC(sidecar([]*effective.Table{table}, []effective.ClusterUse{use("v1", pay, at(v1)), use("v2", pay, at(v2))}))
}

// TestGRPCClient holds route choice, a broken share, timeouts and retries for a
// client without a sidecar (spec/xds.md 11).
func TestGRPCClient(t *testing.T) {
	t.Parallel()
	v1, v2 := envoytest.StartBackend(t, "v1"), envoytest.StartBackend(t, "v2")
	state := grpcState(t, v1, v2)
	if n := state.Notes; len(n) == 0 || n[0].Code != "UnsupportedByGRPC" || n[0].Origin.Name != "again" {
		t.Errorf("the header that the client does not set needs a note on its route, got %v", n)
	}

	builder, ads := grpcClient(t, state)
	conn, err := grpc.NewClient("xds:///pay.shop.svc.cluster.local:9000", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(builder))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call := func(method, id, script string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		ctx = metadata.AppendToOutgoingContext(ctx, envoytest.IDHeader, id, envoytest.ScriptHeader, script)
		var header metadata.MD
		err := conn.Invoke(ctx, method, &emptypb.Empty{}, &emptypb.Empty{}, grpc.Header(&header))
		return fmt.Sprint(header[envoytest.NameHeader]), err
	}
	for _, c := range []struct{ method, want string }{{"/pay.Pay/Get", "[v1]"}, {"/pay.Other/Get", "[v2]"}, {"/pay.OtherX/Get", "[v1]"}} {
		if got, err := call(c.method, c.method, "200"); err != nil || got != c.want {
			t.Errorf("%s went to %s (%v), want %s", c.method, got, err, c.want)
		}
	}
	if _, err := call("/pay.Pay/Slow", "slow", "slow:10s"); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("slow call: %v, want DeadlineExceeded", err)
	}
	if _, err := call("/pay.Pay/Again", "again", "grpc:14,grpc:14,200"); err != nil || len(v1.Seen("again")) != 3 {
		t.Errorf("repeated call: %v after %d attempts, want success at the third", err, len(v1.Seen("again")))
	}
	seen := map[codes.Code]bool{}
	for range 40 {
		_, err := call("/gone/Get", "gone", "200")
		seen[status.Code(err)] = true
	}
	if !seen[codes.OK] || !seen[codes.Unavailable] || len(seen) != 2 {
		t.Errorf("half of a split is broken: %v, want OK and Unavailable", seen)
	}
	ads.mu.Lock()
	defer ads.mu.Unlock()
	if len(ads.nacks) > 0 {
		t.Errorf("the client refused: %q", ads.nacks)
	}
}

// TestGRPCLeavesOutWhatItsClientsDoNotAsk: they would read such a rule as if the
// condition were not there. The writer is told.
func TestGRPCLeavesOutWhatItsClientsDoNotAsk(t *testing.T) {
	t.Parallel()
	x, must := matches.On, matches.Must
	for name, c := range map[string]struct {
		conditions []match.Condition
		kept       bool
	}{
		"header":           {[]match.Condition{x(match.OnHeader, match.Suffix, "a", "b")}, true},
		"path and chance":  {[]match.Condition{x(match.OnPath, match.Equal, "", "/a"), must(match.Within(match.OnChance, "", 0, 5))}, true},
		"cookie":           {[]match.Condition{x(match.OnCookie, match.Equal, "a", "b")}, false},
		"claim":            {[]match.Condition{x(match.OnClaim, match.Equal, "a", "b")}, false},
		"authority":        {[]match.Condition{x(match.OnAuthority, match.Equal, "", "b")}, false},
		"second path":      {[]match.Condition{x(match.OnPath, match.Equal, "", "/a"), x(match.OnPath, match.FullMatch, "", "/a")}, false},
		"missing is empty": {[]match.Condition{must(match.Compare(match.OnHeader, "a", match.Equal, match.Not|match.MissingIsEmpty, "b"))}, false},
	} {
		r := rule("r", matches.Of(c.conditions...))
		state := renderer().RenderGRPC(sidecar([]*effective.Table{table(r)}, nil))
		config := envoytest.Open(t, state.Routes[0], &routev3.RouteConfiguration{})
		if kept := config.VirtualHosts[0].Routes[0].Name == "r"; kept != c.kept || len(state.Notes) != map[bool]int{false: 1}[kept] {
			t.Errorf("%s: the rule is there: %v; notes %v", name, kept, state.Notes)
		}
	}
}
