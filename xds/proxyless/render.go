// Package proxyless renders for gRPC's own xDS client, which calls without a sidecar.
package proxyless

import (
	"slices"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/proto"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/endpoints"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/matchers"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
)

// Render is what gRPC's own xDS client gets for r: listeners by
// <service>:<port> with an api_listener, routes without HTTP filters, and
// endpoints for every cluster. What such a client cannot do stands in the notes.
func Render(r *effective.Resolved) *resource.State {
	s := &resource.State{}
	for _, o := range nearestFirst(r) {
		routes := grpcRoutes(o)
		if routes == nil {
			continue // there are no calls to route
		}
		for _, name := range grpcNames(o) {
			s.Add(&s.Listeners, grpcListener(name, o.Destination.ID), nil)
		}
		s.Add(&s.Routes, routes, nil)
	}
	for i := range r.Clusters {
		c, e, notes := grpcCluster(r, &r.Clusters[i])
		s.Add(&s.Clusters, c, notes)
		s.Add(&s.Endpoints, e, nil)
	}
	if slices.ContainsFunc(s.Routes, func(r *resource.Resource) bool { return slices.Contains(r.Clusters, naming.Unresolved) }) {
		// A client that waits for a cluster would keep its calls waiting.
		s.Add(&s.Clusters, resource.New(naming.Unresolved, edsCluster(naming.Unresolved)), nil)
		s.Add(&s.Endpoints, resource.New(naming.Unresolved, &endpointv3.ClusterLoadAssignment{ClusterName: naming.Unresolved}), nil)
	}
	s.Sort()
	return s
}

// grpcRoutes are the routes to the destination of o, made once for its table; nil
// where it takes no calls.
func grpcRoutes(o *effective.Outbound) *resource.Resource {
	switch {
	case o.Table != nil:
		return routes.ForGRPC(o.Table, o.Cache).Do(func() any { return renderGRPCRoutes(o.Table) }).(*resource.Resource)
	case o.Destination.Protocol.HTTPLike():
		return o.Cache.Rendered().Do(func() any { return renderGRPCRoutes(grpcTable(o.TCP)) }).(*resource.Resource)
	}
	return nil
}

// grpcTable is t for requests. Where a rule divides connections, which such a client
// opens by itself, its calls are divided in the same shares; what is said about
// requests acts on them as little.
func grpcTable(t *effective.TCPTable) *effective.Table {
	return &effective.Table{Destination: t.Destination, Routes: []*effective.Route{{
		Name: "connections", Match: match.CatchAll, Matches: []match.Match{match.CatchAll},
		Origins: t.Origins, ActionBy: t.BackendsBy, Backends: t.Backends,
	}}}
}

// nearestFirst are the outbounds of r, those of its own namespace first, for of
// two services with one short name the nearer one is meant.
func nearestFirst(r *effective.Resolved) []*effective.Outbound {
	home := r.Dataplane.HomeNamespace()
	out := slices.Clone(r.Outbounds)
	slices.SortStableFunc(out, func(a, b *effective.Outbound) int {
		return far(a, home) - far(b, home)
	})
	return out
}

func far(o *effective.Outbound, home string) int {
	if o.Destination.Namespace == home {
		return 0
	}
	return 1
}

// grpcNames are the names by which a client may ask for an outbound: its id,
// and every hostname with its port.
func grpcNames(o *effective.Outbound) []string {
	port := o.Destination.Port
	if port == 0 {
		port = o.Port
	}
	names := []string{o.Destination.ID, naming.Address(o.Destination.Name, port)}
	for _, h := range o.Destination.Hostnames {
		names = append(names, naming.Address(h, port))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func grpcListener(name, destination string) *resource.Resource {
	manager := &hcmv3.HttpConnectionManager{
		StatPrefix: destination,
		RouteSpecifier: &hcmv3.HttpConnectionManager_Rds{Rds: &hcmv3.Rds{
			ConfigSource: envoy.OverADS(envoy.Forever), RouteConfigName: naming.Table(destination),
		}},
		HttpFilters: []*hcmv3.HttpFilter{{
			Name: envoy.RouterFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&routerv3.Router{})},
		}},
	}
	r := resource.New(name, &listenerv3.Listener{Name: name, ApiListener: &listenerv3.ApiListener{ApiListener: envoy.Pack(manager)}})
	r.Routes = []string{naming.Table(destination)}
	return r
}

// renderGRPCRoutes is t for a client that calls by itself.
func renderGRPCRoutes(t *effective.Table) *resource.Resource {
	b := routes.Build(t, false)
	config := b.Configuration(t)
	host := config.VirtualHosts[0]
	var kept []*routev3.Route
	for i, r := range host.Routes {
		by := b.Rendered[i]
		conditions, ok := ofCalls(by.Match.Conditions)
		if c := beyondCalls(conditions); c != nil {
			b.Notes = append(b.Notes, neverTaken(by, c)...)
		} else if ok {
			r.Match = matchers.Route(conditions)
			b.Notes = append(b.Notes, simplify(r, by, t.Destination)...)
			kept = append(kept, withoutSegments(r)...)
		}
		if names(r.GetRoute(), naming.Unresolved) {
			b.Clusters = append(b.Clusters, naming.Unresolved)
		}
	}
	host.Routes, host.TypedPerFilterConfig = kept, nil
	slices.Sort(b.Clusters)
	res := resource.New(config.Name, config)
	var notes origin.Notes
	notes.Add(b.Notes...)
	res.Clusters, res.Notes = slices.Compact(b.Clusters), notes.List
	return res
}

// simplify takes away what such a client refuses or ignores, and moves the
// timeout to where it looks for one.
func simplify(r *routev3.Route, by *effective.Route, d *effective.Destination) []api.Note {
	var notes []api.Note
	for _, o := range ignored(r, by, d) {
		notes = append(notes, api.Note{
			Origin: o, Severity: api.Warning, Code: "UnsupportedByGRPC",
			Message: "gRPC clients without a sidecar neither redirect, rewrite, mirror nor limit, and change no header; give the client a sidecar if it must",
		})
	}
	r.TypedPerFilterConfig = nil
	if action := r.GetRoute(); action.GetTimeout().AsDuration() > 0 {
		action.MaxStreamDuration = &routev3.RouteAction_MaxStreamDuration{MaxStreamDuration: action.Timeout}
	}
	return notes
}

// ignored are those who wrote what the client does not do: the rule whose filters
// hold, and policies that configure an HTTP filter.
func ignored(r *routev3.Route, by *effective.Route, d *effective.Destination) []*api.Origin {
	var out []*api.Origin
	action := r.GetRoute()
	if routes.ChangesHeaders(r) || len(action.GetRequestMirrorPolicies()) > 0 ||
		action.GetPrefixRewrite() != "" || action.GetRegexRewrite() != nil || action.GetHostRewriteLiteral() != "" {
		out = append(out, by.FiltersBy)
	}
	if r.GetRedirect() != nil {
		out = append(out, by.ActionBy)
	}
	for _, e := range by.Policies {
		out = append(out, origin.SetBy(e, func(c policies.Conf) proto.Message {
			return &routev3.Route{TypedPerFilterConfig: routes.Blank(c, envoy.Place{Protocol: d.Protocol}, true).TypedPerFilterConfig}
		})...)
	}
	return out
}

func names(a *routev3.RouteAction, cluster string) bool {
	return a.GetCluster() == cluster || slices.ContainsFunc(a.GetWeightedClusters().GetClusters(),
		func(c *routev3.WeightedCluster_ClusterWeight) bool { return c.Name == cluster })
}

// grpcForm is a cluster and who answers for it.
type grpcForm struct {
	cluster, endpoints *resource.Resource
	notes              []api.Note
}

// grpcCluster is u with its endpoints: this client takes no fixed ones.
func grpcCluster(r *effective.Resolved, u *effective.ClusterUse) (cluster, list *resource.Resource, notes []api.Note) {
	cluster, notes = clusters.Render(u.Cluster, u.ClusterCache)
	if cluster == nil {
		return nil, nil, notes
	}
	if cluster.EDS {
		return cluster, endpoints.Render(r, u), nil
	}
	made := clusters.ForGRPC(u.ClusterCache).Do(func() any { return outsideForGRPC(u.Cluster) }).(grpcForm)
	return made.cluster, made.endpoints, made.notes
}

func outsideForGRPC(c *effective.Cluster) grpcForm {
	out, origins, err := clusters.Build(c)
	if err != nil {
		return grpcForm{} // RenderCluster has said so
	}
	list := out.LoadAssignment
	single := len(list.Endpoints) == 1 && len(list.Endpoints[0].LbEndpoints) == 1
	switch {
	case out.TransportSocket != nil || out.GetType() == clusterv3.Cluster_STRICT_DNS && !single:
		f := grpcForm{}
		for _, o := range origins {
			f.notes = append(f.notes, api.Note{
				Origin: o, Severity: api.Warning, Code: "UnsupportedByGRPC",
				Message: "gRPC clients without a sidecar cannot call this external service: it has TLS or several names; give the client a sidecar",
			})
		}
		return f
	case out.GetType() == clusterv3.Cluster_STRICT_DNS:
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_LOGICAL_DNS}
		return grpcForm{cluster: resource.New(c.Name, out)}
	}
	eds := edsCluster(c.Name)
	eds.Metadata, eds.CircuitBreakers = out.Metadata, out.CircuitBreakers
	r := resource.New(c.Name, eds)
	r.EDS = true
	return grpcForm{cluster: r, endpoints: resource.New(c.Name, list)}
}

func edsCluster(name string) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_EDS},
		EdsClusterConfig:     &clusterv3.Cluster_EdsClusterConfig{EdsConfig: envoy.OverADS(clusters.EndpointWait)},
	}
}
