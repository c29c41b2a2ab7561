package differential

import (
	"testing"

	adminv3 "github.com/envoyproxy/go-control-plane/envoy/admin/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/internal/envoytest"
)

// dump is what an Envoy says that it runs, by the names that a fleet gives.
type dump struct {
	listeners map[string]*listenerv3.Listener
	clusters  map[string]*clusterv3.Cluster
	routes    map[string]*routev3.RouteConfiguration
}

// unpack opens a message of an Envoy's answer.
func unpack[M proto.Message](t *testing.T, a *anypb.Any, m M) M {
	t.Helper()
	if err := a.UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	return m
}

func dumpOf(t *testing.T, e *envoytest.Envoy) dump {
	t.Helper()
	all := &adminv3.ConfigDump{}
	if err := protojson.Unmarshal([]byte(e.Dump()), all); err != nil {
		t.Fatal(err)
	}
	out := dump{map[string]*listenerv3.Listener{}, map[string]*clusterv3.Cluster{}, map[string]*routev3.RouteConfiguration{}}
	for _, config := range all.Configs {
		switch {
		case config.MessageIs(&adminv3.ListenersConfigDump{}):
			for _, s := range unpack(t, config, &adminv3.ListenersConfigDump{}).DynamicListeners {
				l := unpack(t, s.ActiveState.Listener, &listenerv3.Listener{})
				out.listeners[l.Name] = l
			}
		case config.MessageIs(&adminv3.ClustersConfigDump{}):
			for _, s := range unpack(t, config, &adminv3.ClustersConfigDump{}).DynamicActiveClusters {
				c := unpack(t, s.Cluster, &clusterv3.Cluster{})
				out.clusters[c.Name] = c
			}
		case config.MessageIs(&adminv3.RoutesConfigDump{}):
			for _, s := range unpack(t, config, &adminv3.RoutesConfigDump{}).DynamicRouteConfigs {
				r := unpack(t, s.RouteConfig, &routev3.RouteConfiguration{})
				out.routes[r.Name] = r
			}
		}
	}
	return out
}

// envoyPlace is where the fields of policies stand in one Envoy: a listener's connection
// manager, none for bytes; a host and a route of it; a cluster, none if
// no route names it, and its options.
type envoyPlace struct {
	listener *listenerv3.Listener
	manager  *hcmv3.HttpConnectionManager
	bytes    *tcpproxyv3.TcpProxy
	host     *routev3.VirtualHost
	route    *routev3.Route
	cluster  *clusterv3.Cluster
	options  *upstreamhttpv3.HttpProtocolOptions
}

// at is the place of a listener and a cluster of the dataplane of a world, before a
// route is chosen.
func (d dump) at(t *testing.T, w int, dataplane, listener, cluster string) envoyPlace {
	t.Helper()
	p := envoyPlace{listener: d.listeners[place(w, dataplane)+listener], cluster: d.clusters[place(w, dataplane)+cluster]}
	if p.listener == nil {
		t.Fatalf("Envoy has no listener %s of %s in world %d", listener, dataplane, w)
	}
	for _, a := range p.cluster.GetTypedExtensionProtocolOptions() {
		p.options = unpack(t, a, &upstreamhttpv3.HttpProtocolOptions{})
	}
	filters := p.listener.FilterChains[0].Filters
	if last := filters[len(filters)-1].GetTypedConfig(); last.MessageIs(&hcmv3.HttpConnectionManager{}) {
		p.manager = unpack(t, last, &hcmv3.HttpConnectionManager{})
		p.host = d.routes[p.manager.GetRds().RouteConfigName].VirtualHosts[0]
	} else {
		p.bytes = unpack(t, last, &tcpproxyv3.TcpProxy{})
	}
	return p
}

// on is p at the route of that name; ok is false where there is none.
func (p envoyPlace) on(name string) (envoyPlace, bool) {
	for _, r := range p.host.GetRoutes() {
		if r.Name == name {
			p.route = r
			return p, true
		}
	}
	return p, false
}
