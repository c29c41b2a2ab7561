package envoytest

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/xds"
)

// ValidateStates asks Envoy whether it would take all that many sidecars hold:
// nil, or its words about the first thing that it refuses. Routes are put into
// their listeners, endpoints into their clusters, and everything gets a name and
// an address of its own, for all of it goes into one file.
func ValidateStates(t testing.TB, states []*xds.State) error {
	t.Helper()
	b := Bootstrap(Socket(t), &bootstrapv3.Bootstrap_StaticResources{})
	v := &validation{t: t, dir: Dir(t), out: b.StaticResources}
	for i, s := range states {
		v.add(fmt.Sprintf("%d/", i), s)
	}
	return Validate(t, JSON(t, b))
}

type validation struct {
	t   testing.TB
	dir string
	out *bootstrapv3.Bootstrap_StaticResources
	n   int
}

func (v *validation) add(prefix string, s *xds.State) {
	v.t.Helper()
	for _, r := range s.Clusters {
		c := Open(v.t, r, &clusterv3.Cluster{})
		c.Name = prefix + c.Name
		if r.EDS {
			c.ClusterDiscoveryType, c.EdsClusterConfig = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, nil
			c.LoadAssignment = v.endpoints(s, r.Name)
		}
		v.out.Clusters = append(v.out.Clusters, c)
	}
	for _, r := range s.Listeners {
		l := Listener(v.t, r)
		v.n++
		l.Name = prefix + l.Name
		l.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: filepath.Join(v.dir, fmt.Sprint(v.n))}}}
		v.inline(l, s)
		v.out.Listeners = append(v.out.Listeners, l)
	}
}

// endpoints are those of a cluster.
func (v *validation) endpoints(s *xds.State, cluster string) *endpointv3.ClusterLoadAssignment {
	v.t.Helper()
	at := slices.IndexFunc(s.Endpoints, func(r *xds.Resource) bool { return r.Name == cluster })
	if at < 0 {
		v.t.Fatalf("cluster %s has no endpoints", cluster)
	}
	return Open(v.t, s.Endpoints[at], &endpointv3.ClusterLoadAssignment{})
}

// inline puts the routes of l's connection manager, if it has one, into it.
func (v *validation) inline(l *listenerv3.Listener, s *xds.State) {
	v.t.Helper()
	for _, chain := range l.FilterChains {
		last := chain.Filters[len(chain.Filters)-1]
		m := &hcmv3.HttpConnectionManager{}
		if !last.GetTypedConfig().MessageIs(m) {
			continue
		}
		if err := last.GetTypedConfig().UnmarshalTo(m); err != nil {
			v.t.Fatal(err)
		}
		name := m.GetRds().GetRouteConfigName()
		at := slices.IndexFunc(s.Routes, func(r *xds.Resource) bool { return r.Name == name })
		if at < 0 {
			v.t.Fatalf("%s names the route configuration %s, which is not there", l.Name, name)
		}
		m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: Open(v.t, s.Routes[at], &routev3.RouteConfiguration{})}
		if err := last.GetTypedConfig().MarshalFrom(m); err != nil {
			v.t.Fatal(err)
		}
	}
}
