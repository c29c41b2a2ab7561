package envoytest

import (
	"strconv"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/routes"
)

// multiverse is a listener of a sidecar whose routes are chosen by worldHeader.
func multiverse(t testing.TB, kinds []*policies.Kind, worlds []World, path string) *listenerv3.Listener {
	t.Helper()
	first := worlds[0].Table
	sidecar := &effective.Resolved{
		Dataplane: &api.Object{Spec: &api.Dataplane{}},
		Outbounds: []*effective.Outbound{{Address: "127.0.0.1", Port: 1, Destination: first.Destination, Table: first}},
	}
	l := Listener(t, xds.NewRenderer(kinds).Render(sidecar).Listeners[0])
	l.Address = &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: path}}}
	filter := l.FilterChains[0].Filters[len(l.FilterChains[0].Filters)-1]
	manager := &hcmv3.HttpConnectionManager{}
	if err := filter.GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	list := &hcmv3.ScopedRouteConfigurationsList{}
	for i, w := range worlds {
		config := routes.Build(w.Table, true).Configuration(w.Table)
		config.Name = "world " + strconv.Itoa(i)
		reveal(config, w.Hosts)
		list.ScopedRouteConfigurations = append(list.ScopedRouteConfigurations, &routev3.ScopedRouteConfiguration{
			Name: config.Name, RouteConfiguration: config, Key: scopeKey(strconv.Itoa(i)),
		})
	}
	manager.RouteSpecifier = &hcmv3.HttpConnectionManager_ScopedRoutes{ScopedRoutes: &hcmv3.ScopedRoutes{
		Name:            "worlds",
		ScopeKeyBuilder: byHeader(worldHeader),
		ConfigSpecifier: &hcmv3.ScopedRoutes_ScopedRouteConfigurationsList{ScopedRouteConfigurationsList: list},
	}}
	packed, err := anypb.New(manager)
	if err != nil {
		t.Fatal(err)
	}
	filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
	return l
}

func scopeKey(text string) *routev3.ScopedRouteConfiguration_Key {
	return &routev3.ScopedRouteConfiguration_Key{Fragments: []*routev3.ScopedRouteConfiguration_Key_Fragment{{
		Type: &routev3.ScopedRouteConfiguration_Key_Fragment_StringKey{StringKey: text},
	}}}
}

func byHeader(name string) *hcmv3.ScopedRoutes_ScopeKeyBuilder {
	return &hcmv3.ScopedRoutes_ScopeKeyBuilder{Fragments: []*hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder{{
		Type: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_{
			HeaderValueExtractor: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor{
				Name:        name,
				ExtractType: &hcmv3.ScopedRoutes_ScopeKeyBuilder_FragmentBuilder_HeaderValueExtractor_Index{Index: 0},
			},
		},
	}}}
}

// reveal makes every route say what it chose, and every cluster the echo.
func reveal(config *routev3.RouteConfiguration, hosts map[string]string) {
	echo := func(cluster string) string {
		if host := hosts[cluster]; host != "" {
			return "echo " + host
		}
		return "echo"
	}
	for _, host := range config.VirtualHosts {
		for _, r := range host.Routes {
			r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(routeHeader, r.Name))
			action := r.GetRoute()
			for _, m := range action.GetRequestMirrorPolicies() {
				m.Cluster = "mirror"
			}
			if name := action.GetCluster(); name != "" && name != naming.Unresolved {
				r.ResponseHeadersToAdd = append(r.ResponseHeadersToAdd, says(clusterHeader, name))
				action.ClusterSpecifier = &routev3.RouteAction_Cluster{Cluster: echo(name)}
			}
			for _, c := range action.GetWeightedClusters().GetClusters() {
				if c.Name != naming.Unresolved {
					c.ResponseHeadersToAdd = append(c.ResponseHeadersToAdd, says(clusterHeader, c.Name))
					c.Name = echo(c.Name)
				}
			}
		}
	}
}

func says(name, value string) *corev3.HeaderValueOption {
	return &corev3.HeaderValueOption{
		Header:       &corev3.HeaderValue{Key: name, Value: envoy.Escape(value)},
		AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
	}
}
