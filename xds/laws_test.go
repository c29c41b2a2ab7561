package xds_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
)

func all4(s *resource.State) []*resource.Resource {
	return slices.Concat(s.Listeners, s.Routes, s.Clusters, s.Endpoints)
}

// TestKindsCommute: the order in which kinds are known changes no byte, and
// rendering twice gives the same bytes (so no map order reaches them).
func TestKindsCommute(t *testing.T) {
	t.Parallel()
	catalog := world.Catalog()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, catalog, rapid.IntRange(2, 6).Draw(t, "steps"))
		seed := rapid.Uint64().Draw(t, "seed")
		shuffled := slices.Clone(world.Kinds())
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		one, _ := resolve.Compile(s, world.Dialects(), world.Kinds())
		two, _ := resolve.Compile(s, world.Dialects(), shuffled)
		for r := range one.Dataplanes("") {
			q, _ := two.Dataplane(r.Ref)
			a, b := all4(xds.NewRenderer(world.Kinds()).Render(r)), all4(xds.NewRenderer(shuffled).Render(q))
			if len(a) != len(b) {
				t.Fatalf("%s: %d and %d resources", r.Ref, len(a), len(b))
			}
			for i := range a {
				if a[i].Name != b[i].Name || !bytes.Equal(a[i].Content().Value, b[i].Content().Value) {
					t.Fatalf("%s: %s differs with the order of kinds %v", r.Ref, a[i].Name, shuffled)
				}
			}
		}
	})
}

// TestSharedValuesAreRenderedOnce: two sidecars with one table hold one resource.
func TestSharedValuesAreRenderedOnce(t *testing.T) {
	t.Parallel()
	tab, u := table(), use("web:8080", web(), effective.Endpoint{Address: "127.0.0.1", Port: 1})
	x := renderer()
	kept := effective.NewCache()
	u.ClusterCache, u.EndpointsCache = new(effective.Derived), new(effective.Derived)
	render := func() *resource.State {
		r := sidecar([]*effective.Table{tab}, []effective.ClusterUse{u})
		r.Outbounds[0].Cache = kept
		return x.Render(r)
	}
	a, b := render(), render()
	if a.Routes[0] != b.Routes[0] || a.Clusters[0] != b.Clusters[0] || a.Endpoints[0] != b.Endpoints[0] {
		t.Error("rendered twice")
	}
	if a.Listeners[0].Version != b.Listeners[0].Version {
		t.Error("equal listeners have different versions")
	}
	if d := cmp.Diff([]string{"v1", "web:8080"}, routes.RenderTable(table(rule("r", path(match.Equal, "/a"))), nil).Clusters); d != "" {
		t.Errorf("clusters of a table (-want +got):\n%s", d)
	}
}

// originsOf are the names in an object's metadata.
func originsOf(t *testing.T, m map[string]*structpb.Struct) []string {
	t.Helper()
	var out []string
	for _, v := range m["weft"].GetFields()["origins"].GetListValue().GetValues() {
		f := v.GetStructValue().GetFields()
		out = append(out, f["kind"].GetStringValue()+"/"+f["name"].GetStringValue())
	}
	return out
}

// TestMetadataNamesWhatStands holds spec/xds.md 12: origins whose value stands in
// the object, no losers, no other protocol's values.
func TestMetadataNamesWhatStands(t *testing.T) {
	t.Parallel()
	one, two := api.Duration(1e9), api.Duration(2e9)
	three, four := uint32(3), uint32(4)
	layer := func(k *policies.Kind, name string, conf policies.Conf) merge.Layer {
		o := &api.Origin{Ref: api.Ref{Kind: k.Name, Name: name}, Field: "spec.to[0]"}
		return merge.Layer{Name: merge.Mesh, Origin: o, Leaves: k.Schema.Read(conf)}
	}
	timeouts := timeout.Kind.Resolve([]merge.Layer{
		layer(timeout.Kind, "loser", &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &one}}),
		layer(timeout.Kind, "cluster", &timeout.Conf{ConnectionTimeout: &two}),
		layer(timeout.Kind, "route", &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &two}}),
		layer(timeout.Kind, "listener", &timeout.Conf{HTTP: &timeout.HTTP{RequestHeadersTimeout: &two}}),
	})
	retries := retry.Kind.Resolve([]merge.Layer{
		layer(retry.Kind, "http", &retry.Conf{HTTP: &retry.HTTP{NumRetries: &three}}),
		layer(retry.Kind, "grpc", &retry.Conf{GRPC: &retry.GRPC{NumRetries: &four}}),
		layer(retry.Kind, "tcp", &retry.Conf{TCP: &retry.TCP{MaxConnectAttempt: &four}}),
	})
	r := rule("strong", path(match.SegmentPrefix, "/a"))
	weak, filters := by("weak"), by("filters")
	r.Origins, r.FiltersBy, r.ActionBy = []*api.Origin{weak, filters, r.Origins[0]}, filters, nil
	r.Policies = effective.Policies{retries, timeouts}
	u := use("web:8080", web())
	u.Cluster.Policies = r.Policies
	plane := sidecar([]*effective.Table{table(r)}, []effective.ClusterUse{u})
	plane.Outbounds[0].Policies = r.Policies
	s := renderer().Render(plane)
	config := envoytest.Open(t, s.Routes[0], &routev3.RouteConfiguration{})
	for i, want := range []string{
		"MeshHTTPRoute/filters MeshHTTPRoute/strong MeshRetry/http MeshTimeout/route", "",
	} {
		got := originsOf(t, config.VirtualHosts[0].Routes[i].GetMetadata().GetFilterMetadata())
		if d := cmp.Diff(want, join(got)); d != "" {
			t.Errorf("route %d (-want +got):\n%s", i, d)
		}
	}
	listener := envoytest.Listener(t, s.Listeners[0])
	if d := cmp.Diff("MeshTimeout/listener", join(originsOf(t, listener.Metadata.FilterMetadata))); d != "" {
		t.Errorf("listener (-want +got):\n%s", d)
	}
	cluster := envoytest.Open(t, s.Clusters[0], &clusterv3.Cluster{})
	if d := cmp.Diff("MeshTimeout/cluster", join(originsOf(t, cluster.Metadata.FilterMetadata))); d != "" {
		t.Errorf("cluster (-want +got):\n%s", d)
	}
}

func join(list []string) string { return strings.Join(list, " ") }

// TestLocalityAndWeightAreAlwaysSet holds spec/xds.md 11 for every shape of list.
func TestLocalityAndWeightAreAlwaysSet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := &effective.Endpoints{Name: "x"}
		for i := range rapid.IntRange(0, 6).Draw(t, "n") {
			e.List = append(e.List, effective.Endpoint{
				Address: fmt.Sprintf("127.0.0.%d", i), Port: 80, Zone: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "zone"),
				Priority: rapid.SampledFrom([]uint32{0, 5, 128}).Draw(t, "priority"),
			})
		}
		list := &endpointv3.ClusterLoadAssignment{}
		if err := renderedEndpoints(e).Content().UnmarshalTo(list); err != nil {
			t.Fatal(err)
		}
		total, next := 0, uint32(0)
		for i, g := range list.Endpoints {
			if g.Locality == nil || g.LoadBalancingWeight.GetValue() == 0 {
				t.Fatalf("group without locality or weight: %v", g)
			}
			if i == 0 && g.Priority != 0 || g.Priority > next+1 {
				t.Fatalf("priorities have a gap: %v", list)
			}
			next = g.Priority
			total += len(g.LbEndpoints)
			for _, p := range g.LbEndpoints {
				if p.LoadBalancingWeight.GetValue() == 0 {
					t.Fatalf("endpoint without weight: %v", p)
				}
			}
		}
		if total != len(e.List) {
			t.Fatalf("%d of %d endpoints", total, len(e.List))
		}
	})
}

// TestNames holds spec/xds.md 2: no name depends on content.
func TestNames(t *testing.T) {
	t.Parallel()
	in := &effective.Inbound{Address: "::1", Port: 80, ServiceAddress: "127.0.0.1", ServicePort: 8080, Protocol: api.HTTP}
	s := renderer().Render(sidecar([]*effective.Table{table()}, []effective.ClusterUse{use("web:8080", web())}, in))
	want := []string{
		"inbound:[::1]:80", "outbound:127.0.0.1:10001", "inbound:[::1]:80", "outbound:web:8080",
		"inbound:[::1]:80", "web:8080", "web:8080",
	}
	if d := cmp.Diff(want, names(all4(s))); d != "" {
		t.Errorf("listeners, routes, clusters, endpoints (-want +got):\n%s", d)
	}
}
