package policytest

import (
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// Written is what confs of several kinds write, each object on its own.
type Written struct {
	Route   *routev3.Route
	Cluster *clusterv3.Cluster
	Options *upstreamhttpv3.HttpProtocolOptions
	Manager *hcmv3.HttpConnectionManager
	TCP     *tcpproxyv3.TcpProxy
	Filters []*listenerv3.Filter
	Own     []envoy.OwnCluster // that the others name
	// Ports are those of the endpoints of its cluster on loopback, where it has others than all have.
	Ports []uint32
}

// Write lets each conf write, in this order, into objects as package xds has
// them before any policy.
func Write(p envoy.Place, confs ...policies.Conf) Written {
	w := Written{
		Route: &routev3.Route{
			Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_Route{Route: &routev3.RouteAction{
				ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: "backend"}, Timeout: durationpb.New(0),
			}},
		},
		Cluster: &clusterv3.Cluster{Name: "backend", ConnectTimeout: durationpb.New(5 * time.Second)},
		Manager: &hcmv3.HttpConnectionManager{
			StatPrefix: "test", RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: new(routev3.RouteConfiguration)},
		},
		TCP: &tcpproxyv3.TcpProxy{StatPrefix: "test", ClusterSpecifier: &tcpproxyv3.TcpProxy_Cluster{Cluster: "backend"}},
	}
	switch {
	case p.Protocol == api.HTTP:
		w.Options = &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP1Upstream()}
	case p.Protocol.HTTPLike():
		w.Options = &upstreamhttpv3.HttpProtocolOptions{UpstreamProtocolOptions: envoy.HTTP2Upstream(nil)}
	}
	var lb envoy.Lb
	for _, c := range confs {
		lb = lb.With(c, p)
		if c, ok := c.(envoy.RouteWriter); ok {
			c.WriteRoute(w.Route, p)
		}
		if c, ok := c.(envoy.ClusterWriter); ok {
			c.WriteCluster(w.Cluster, w.Options, p)
		}
		if c, ok := c.(envoy.ManagerWriter); ok {
			c.WriteManager(w.Manager, p)
		}
		if c, ok := c.(envoy.TCPWriter); ok {
			c.WriteTCP(w.TCP, p)
		}
		if c, ok := c.(envoy.ResourceWriter); ok {
			w.Own = append(w.Own, c.Clusters(p)...)
		}
		if c, ok := c.(envoy.NetworkFilterWriter); ok {
			w.Filters = append(w.Filters, c.NetworkFilters(p)...)
		}
	}
	lb.Write(w.Cluster)
	return w
}

// Messages are all that was written, in a fixed order.
func (w Written) Messages() []proto.Message {
	list := []proto.Message{w.Route, w.Cluster, w.Manager, w.TCP}
	if w.Options != nil {
		list = append(list, w.Options)
	}
	for _, f := range w.Filters {
		list = append(list, f)
	}
	return list
}

// Bootstrap is the configuration of an Envoy in which each of written has a
// virtual host of its index, "0", "1", …, on a shared HTTP listener at the unix
// socket socket, and a TCP listener at a socket of its own (socket + index).
// Their clusters all lead to address and port.
func Bootstrap(t testing.TB, socket, address string, port uint32, kinds []*policies.Kind, written ...Written) []byte {
	t.Helper()
	b := &bootstrapv3.Bootstrap{
		Admin:           &bootstrapv3.Admin{Address: pipe(socket + "-admin")},
		StaticResources: new(bootstrapv3.Bootstrap_StaticResources),
	}
	routes := &routev3.RouteConfiguration{Name: "test"}
	manager := &hcmv3.HttpConnectionManager{StatPrefix: "test"}
	own := map[string]bool{}
	for i, w := range written {
		for _, c := range w.Own {
			if n := c.Name(); !own[n] {
				own[n] = true
				b.StaticResources.Clusters = append(b.StaticResources.Clusters, Written{Cluster: &clusterv3.Cluster{}}.cluster(t, n, address, port))
			}
		}
		name := string(rune('0'+i/10)) + string(rune('0'+i%10))
		route := proto.Clone(w.Route).(*routev3.Route)
		if a := route.GetRoute(); a != nil {
			a.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: name}
		}
		routes.VirtualHosts = append(routes.VirtualHosts, &routev3.VirtualHost{Name: name, Domains: []string{name}, Routes: []*routev3.Route{route}})
		b.StaticResources.Clusters = append(b.StaticResources.Clusters, w.cluster(t, name, address, port))
		tcp := proto.Clone(w.TCP).(*tcpproxyv3.TcpProxy)
		tcp.ClusterSpecifier = &tcpproxyv3.TcpProxy_Cluster{Cluster: name}
		filters := append(slices.Clone(w.Filters), filter(t, "envoy.filters.network.tcp_proxy", tcp))
		b.StaticResources.Listeners = append(b.StaticResources.Listeners, listener(name, socket+name, filters...))
		proto.Merge(manager, w.Manager)
	}
	manager.HttpFilters = append(filtersOf(kinds, manager.HttpFilters), &hcmv3.HttpFilter{
		Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: pack(t, &routerv3.Router{})},
	})
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: routes}
	b.StaticResources.Listeners = append(b.StaticResources.Listeners,
		listener("http", socket, filter(t, "envoy.filters.network.http_connection_manager", manager)))
	text, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// filtersOf are the filters that kinds want in each manager, and behind them those which confs have added, each once.
func filtersOf(kinds []*policies.Kind, added []*hcmv3.HttpFilter) (out []*hcmv3.HttpFilter) {
	var last []*hcmv3.HttpFilter
	for _, k := range kinds {
		if c, ok := k.New().(envoy.HTTPFilterWriter); ok {
			out = append(out, c.HTTPFilters()...)
		}
		if c, ok := k.New().(envoy.LastFilterWriter); ok {
			last = append(last, c.LastFilters()...)
		}
	}
	out = append(out, last...)
	slices.SortFunc(added, func(a, b *hcmv3.HttpFilter) int { return strings.Compare(a.Name, b.Name) })
	return append(out, slices.CompactFunc(added, func(a, b *hcmv3.HttpFilter) bool { return a.Name == b.Name })...)
}

func (w Written) cluster(t testing.TB, name, address string, port uint32) *clusterv3.Cluster {
	c := proto.Clone(w.Cluster).(*clusterv3.Cluster)
	c.Name = name
	hosts := [][]envoy.HostPort{{{Host: address, Port: port}}}
	if w.Ports != nil {
		hosts = [][]envoy.HostPort{nil}
		for _, p := range w.Ports {
			hosts[0] = append(hosts[0], envoy.HostPort{Host: "127.0.0.1", Port: p})
		}
	}
	c.LoadAssignment = envoy.Assignment(name, hosts)
	if w.Options != nil {
		c.TypedExtensionProtocolOptions = map[string]*anypb.Any{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": pack(t, w.Options)}
	}
	return c
}

func listener(name, socket string, filters ...*listenerv3.Filter) *listenerv3.Listener {
	return &listenerv3.Listener{Name: name, Address: pipe(socket), FilterChains: []*listenerv3.FilterChain{{Filters: filters}}}
}

func filter(t testing.TB, name string, config proto.Message) *listenerv3.Filter {
	return &listenerv3.Filter{Name: name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: pack(t, config)}}
}

func pipe(path string) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
}

func pack(t testing.TB, m proto.Message) *anypb.Any {
	a, err := anypb.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return a
}
