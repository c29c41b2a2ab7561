package envoytest

import (
	"slices"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"

	"github.com/weftmesh/weft/xds/resource"
)

// union is all that many sidecars hold, in one static configuration: routes stand
// in their listeners, endpoints in their clusters, and every name gets a prefix,
// for sidecars use the same ones. Nothing else is changed.
type union struct {
	t   testing.TB
	out *bootstrapv3.Bootstrap_StaticResources
	// listens may change what goes in.
	listens func(*listenerv3.Listener)
}

func newUnion(t testing.TB) *union {
	return &union{t: t, out: &bootstrapv3.Bootstrap_StaticResources{}, listens: func(*listenerv3.Listener) {}}
}

func (u *union) add(prefix string, s *resource.State) {
	u.t.Helper()
	for _, r := range s.Clusters {
		c := Open(u.t, r, &clusterv3.Cluster{})
		c.Name = prefix + c.Name
		if r.EDS {
			c.ClusterDiscoveryType, c.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
			c.LoadAssignment = u.endpoints(s, r.Name)
		}
		u.out.Clusters = append(u.out.Clusters, c)
	}
	for _, r := range s.Listeners {
		l := Listener(u.t, r)
		l.Name = prefix + l.Name
		u.inline(prefix, l, s)
		u.listens(l)
		u.out.Listeners = append(u.out.Listeners, l)
	}
}

// endpoints are those of a cluster.
func (u *union) endpoints(s *resource.State, cluster string) *endpointv3.ClusterLoadAssignment {
	u.t.Helper()
	at := slices.IndexFunc(s.Endpoints, func(r *resource.Resource) bool { return r.Name == cluster })
	if at < 0 {
		u.t.Fatalf("cluster %s has no endpoints", cluster)
	}
	return Open(u.t, s.Endpoints[at], &endpointv3.ClusterLoadAssignment{})
}

// inline puts the routes of l's connection manager, if it has one, into it, and
// prefixes the clusters that l names.
func (u *union) inline(prefix string, l *listenerv3.Listener, s *resource.State) {
	u.t.Helper()
	for _, chain := range l.FilterChains {
		last := chain.Filters[len(chain.Filters)-1]
		packed, err := last.GetTypedConfig().UnmarshalNew()
		if err != nil {
			u.t.Fatal(err)
		}
		switch m := packed.(type) {
		case *hcmv3.HttpConnectionManager:
			name := m.GetRds().GetRouteConfigName()
			at := slices.IndexFunc(s.Routes, func(r *resource.Resource) bool { return r.Name == name })
			if at < 0 {
				u.t.Fatalf("%s names the route configuration %s, which is not there", l.Name, name)
			}
			config := Open(u.t, s.Routes[at], &routev3.RouteConfiguration{})
			config.Name = prefix + config.Name
			renameClusters(prefix, config)
			m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: config}
		case *tcpproxyv3.TcpProxy:
			renameTCP(prefix, m)
		}
		if err := last.GetTypedConfig().MarshalFrom(packed); err != nil {
			u.t.Fatal(err)
		}
	}
}

func renameClusters(prefix string, config *routev3.RouteConfiguration) {
	for _, host := range config.VirtualHosts {
		for _, r := range host.Routes {
			action := r.GetRoute()
			if name := action.GetCluster(); name != "" {
				action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: prefix + name}
			}
			for _, c := range action.GetWeightedClusters().GetClusters() {
				c.Name = prefix + c.Name
			}
			for _, m := range action.GetRequestMirrorPolicies() {
				m.Cluster = prefix + m.Cluster
			}
		}
	}
}

func renameTCP(prefix string, p *tcpproxyv3.TcpProxy) {
	if name := p.GetCluster(); name != "" {
		p.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: prefix + name}
	}
	for _, c := range p.GetWeightedClusters().GetClusters() {
		c.Name = prefix + c.Name
	}
}
