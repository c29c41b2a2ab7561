package envoytest

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// The headers by which a sidecar of Join that reveals says what it did with a request.
const (
	// RouteHeader is the response header with the name of the route that was taken.
	RouteHeader = "x-fleet-route"
	// TriesHeader is the response header with the number of attempts, Envoy's own name.
	TriesHeader = "x-envoy-attempt-count"
	// ClusterHeader is the response header with the name of the cluster that was chosen;
	// there is none where no cluster was.
	ClusterHeader = "x-fleet-cluster"
)

// Join is what one Envoy holds that is the sidecar of many dataplanes, each at its
// own addresses, which must differ. Every name gets a prefix, for sidecars use the
// same ones. One that reveals tells in each answer which route it took, and how many
// attempts it made; it does so by additions to its routes that change nothing else.
func Join(t testing.TB, states map[string]*resource.State, reveals bool) *resource.State {
	t.Helper()
	out := &resource.State{}
	for prefix, s := range states {
		for _, r := range s.Clusters {
			c := Open(t, r, &clusterv3.Cluster{})
			c.Name = prefix + c.Name
			if len(s.Secrets) > 0 {
				prefixInside(t, prefix, c)
			}
			out.Clusters = append(out.Clusters, prefixed(t, prefix, r, c))
		}
		for _, r := range s.Endpoints {
			e := Open(t, r, &endpointv3.ClusterLoadAssignment{})
			e.ClusterName = prefix + e.ClusterName
			out.Endpoints = append(out.Endpoints, prefixed(t, prefix, r, e))
		}
		for _, r := range s.Routes {
			config := Open(t, r, &routev3.RouteConfiguration{})
			config.Name = prefix + config.Name
			renameClusters(prefix, config)
			if reveals {
				revealRoutes(config)
			}
			out.Routes = append(out.Routes, prefixed(t, prefix, r, config))
		}
		for _, r := range s.Listeners {
			l := Listener(t, r)
			l.Name = prefix + l.Name
			renameListener(t, prefix, l, reveals)
			if len(s.Secrets) > 0 || slices.ContainsFunc(s.Clusters, namedInside) {
				prefixInside(t, prefix, l)
			}
			out.Listeners = append(out.Listeners, prefixed(t, prefix, r, l))
		}
	}
	for prefix, s := range states {
		for _, r := range s.Secrets {
			secret := Open(t, r, &tlsv3.Secret{})
			secret.Name = prefix + secret.Name
			out.Secrets = append(out.Secrets, prefixed(t, prefix, r, secret))
		}
	}
	for _, list := range [][]*resource.Resource{out.Listeners, out.Routes, out.Clusters, out.Endpoints, out.Secrets} {
		slices.SortFunc(list, func(a, b *resource.Resource) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

// namedInside reports whether listeners name a cluster by which no request is forwarded: that of the
// authorization service, and those of collectors.
func namedInside(cluster *resource.Resource) bool {
	use, _, _ := strings.Cut(cluster.Name, ":")
	return cluster.Name == naming.Authorization || slices.Contains([]string{"otel", "zipkin", "zipkin+tls", "datadog"}, use)
}

// prefixed is r with the content m, which is its own with a prefix before names.
func prefixed(t testing.TB, prefix string, r *resource.Resource, m proto.Message) *resource.Resource {
	t.Helper()
	before := func(names []string) []string {
		out := make([]string, len(names))
		for i, name := range names {
			out[i] = prefix + name
		}
		return out
	}
	packed := envoy.Pack(m)
	sum := sha256.Sum256(packed.Value)
	return (&resource.Resource{
		Name: prefix + r.Name, Type: r.Type, Version: hex.EncodeToString(sum[:10]),
		Clusters: before(r.Clusters), Routes: before(r.Routes), EDS: r.EDS,
	}).With(packed)
}

// renameListener prefixes what the last filter of each chain of l names.
func renameListener(t testing.TB, prefix string, l *listenerv3.Listener, reveals bool) {
	t.Helper()
	for _, chain := range l.FilterChains {
		last := chain.Filters[len(chain.Filters)-1]
		packed, err := last.GetTypedConfig().UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		switch m := packed.(type) {
		case *hcmv3.HttpConnectionManager:
			m.GetRds().RouteConfigName = prefix + m.GetRds().RouteConfigName
			if reveals {
				revealRequests(m)
			}
		case *tcpproxyv3.TcpProxy:
			renameTCP(prefix, m)
		}
		if err := last.GetTypedConfig().MarshalFrom(packed); err != nil {
			t.Fatal(err)
		}
	}
}

// revealRequests has a line written of each request, as for a tap, and its ID in the answer.
func revealRequests(m *hcmv3.HttpConnectionManager) {
	m.AlwaysSetRequestIdInResponse = true
	for _, l := range m.AccessLog {
		if f := l.GetFilter().GetRuntimeFilter(); f.GetRuntimeKey() == bootstrap.TapRuntime {
			f.PercentSampled = &typev3.FractionalPercent{Numerator: 100}
		}
	}
}

func revealRoutes(config *routev3.RouteConfiguration) {
	for _, host := range config.VirtualHosts {
		host.IncludeAttemptCountInResponse = true
		for _, r := range host.Routes {
			r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(RouteHeader, r.Name), &corev3.HeaderValueOption{
				Header:       &corev3.HeaderValue{Key: ClusterHeader, Value: "%UPSTREAM_CLUSTER_RAW%"},
				AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
			})
		}
	}
}
