package xds_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/routes"
)

func TestParseAuthorizer(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"grpc://127.0.0.1:9000":       "",
		"grpc://[::1]:9000":           "",
		"grpc://authz.example.org:80": "",
		"127.0.0.1:9000":              "is no address",
		"http://127.0.0.1:9000":       "is no address",
		"grpc://127.0.0.1:9000/path":  "is no address",
		"grpc://127.0.0.1":            "has no port",
		"grpc://127.0.0.1:0":          "has no port",
		"grpc://127.0.0.1:70000":      "has no port",
		"grpc://:9000":                "has no host",
		"grpc://a_b!:9000":            "has no host",
	} {
		a, err := filters.ParseAuthorizer(text)
		switch {
		case want == "" && (err != nil || a == nil):
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	if a, err := filters.ParseAuthorizer(""); a != nil || err != nil {
		t.Errorf("nothing: %v, %v", a, err)
	}
}

// TestOnlyHostsAsk: a route that must ask is closed where no listener would.
func TestOnlyHostsAsk(t *testing.T) {
	t.Parallel()
	table := &effective.Table{Destination: &effective.Destination{Kind: "MeshService", ID: "web:80", Name: "web", Port: 80, Protocol: "http"},
		Routes: []*effective.Route{{Key: "r", Match: match.CatchAll, Backends: []effective.Backend{{Cluster: "web:80", Weight: 1}},
			Filters: []route.Filter{{Authorization: &route.Authorization{Name: "check"}}}}}}
	built := routes.Build(table, true)
	config, clusters, notes := built.Configuration(table), slices.Compact(built.Clusters), built.Notes
	if got := config.VirtualHosts[0].Routes[0].GetDirectResponse().GetStatus(); got != http.StatusInternalServerError || len(clusters) > 0 || len(notes) != 1 {
		t.Errorf("status %d, clusters %v, notes %v", got, clusters, notes)
	}
}

// TestAuthorizerCluster: a name is looked up, an address is not.
func TestAuthorizerCluster(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]clusterv3.Cluster_DiscoveryType{"10.0.0.1": clusterv3.Cluster_STATIC, "authz.example.org": clusterv3.Cluster_STRICT_DNS} {
		cluster := &clusterv3.Cluster{}
		if err := clusters.Authorization(&filters.ExtAuthz{Host: host, Port: 9000}).Content().UnmarshalTo(cluster); err != nil {
			t.Fatal(err)
		}
		if got := cluster.GetType(); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
		if err := cluster.ValidateAll(); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestWhoAsksHasTheService: sidecars with a route of a host that asks have the cluster of the authorization service,
// others have not, and none has one where the control plane knows no service.
func TestWhoAsksHasTheService(t *testing.T) {
	t.Parallel()
	host := &effective.Destination{ID: "host_shop.example.org:80", Kind: api.KindHost, Name: "shop.example.org", Port: 80, Protocol: api.HTTP, Hostnames: []string{"shop.example.org"}}
	of := func(filters ...route.Filter) *effective.Resolved {
		return sidecar([]*effective.Table{{Destination: host, Routes: []*effective.Route{rule("r", match.CatchAll, filters...)}}}, nil)
	}
	asks, plain := of(route.Filter{Authorization: &route.Authorization{Name: "check"}}), of()
	asking := renderer().Asking(&filters.ExtAuthz{Host: "10.0.0.1", Port: 9000})
	for name, c := range map[string]struct {
		x    *xds.Renderer
		r    *effective.Resolved
		want bool
	}{
		"a route asks":               {asking, asks, true},
		"it reports too":             {asking.Reporting(), asks, true},
		"no route asks":              {asking, plain, false},
		"there is nobody to ask":     {renderer(), asks, false},
		"there is nobody to ask now": {asking.Asking(nil), asks, false},
	} {
		if got := slices.Contains(names(c.x.Render(c.r).Clusters), naming.Authorization); got != c.want {
			t.Errorf("%s: has the service: %v", name, got)
		}
	}
}
