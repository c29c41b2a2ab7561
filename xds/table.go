package xds

import (
	"maps"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// RenderTable is the route configuration of t, made once for what stands beside it.
func RenderTable(t *effective.Table, beside *effective.Kept) *Resource {
	return formsOf(t, beside).envoy
}

// tableForms are the renderings of one table.
type tableForms struct {
	envoy *Resource
	host  effective.Memo // its virtual host among others, made when the first sidecar calls hosts
	hosts hostSets
	grpc  effective.Memo // made when the first gRPC client asks
}

func formsOf(t *effective.Table, beside *effective.Kept) *tableForms {
	return beside.Rendered().Do(func() any {
		config, clusters, notes := RouteConfiguration(t)
		r := newResource(config.Name, config)
		r.Clusters, r.Notes = clusters, notes
		return &tableForms{envoy: r}
	}).(*tableForms)
}

// TableName is the name of the route configuration of a destination.
func TableName(destination string) string { return "outbound:" + destination }

// RouteConfiguration renders t before it is serialised, with the clusters that
// it names, for tests that put other clusters in their place.
func RouteConfiguration(t *effective.Table) (*routev3.RouteConfiguration, []string, []api.Note) {
	b := buildTable(t)
	return b.configuration(t), slices.Compact(b.clusters), b.notes
}

func buildTable(t *effective.Table) *tableBuilder {
	b := &tableBuilder{place: Place{Protocol: t.Destination.Protocol}, hosts: t.Destination.Kind == api.KindHost, by: map[placeKey][]*api.Origin{}}
	for _, r := range t.Routes {
		b.add(r)
	}
	slices.Sort(b.clusters)
	return b
}

func (b *tableBuilder) configuration(t *effective.Table) *routev3.RouteConfiguration {
	return routeConfiguration(TableName(t.Destination.ID), b.host(t, "*"))
}

// host is the virtual host of t for a domain.
func (b *tableBuilder) host(t *effective.Table, domain string) *routev3.VirtualHost {
	host := &routev3.VirtualHost{Name: t.Destination.ID, Domains: []string{domain}, Routes: b.routes}
	b.share(host)
	return host
}

func routeConfiguration(name string, hosts ...*routev3.VirtualHost) *routev3.RouteConfiguration {
	return &routev3.RouteConfiguration{
		Name:             name,
		ValidateClusters: wrapperspb.Bool(false), // a share may name Unresolved
		// Of what applications see; whether to repeat a request is decided before.
		ResponseHeadersToRemove: []string{route.UnsentHeader},
		VirtualHosts:            hosts,
	}
}

type tableBuilder struct {
	place    Place
	hosts    bool // the table is one of a host
	routes   []*routev3.Route
	rendered []*effective.Route // of routes, one for one
	clusters []string
	notes    []api.Note
	by       map[placeKey][]*api.Origin
	shared   map[string][]HostRoute // of kinds that are HostWriters
}

// placeKey is where a policy acts: a route that forwards, or one that does not.
type placeKey struct {
	*policies.Effective
	forwards bool
}

// add renders r.
func (b *tableBuilder) add(r *effective.Route) {
	s := divide(r.Backends)
	if n, ok := s.note(r); ok {
		b.note(n)
	}
	out := &routev3.Route{Name: r.Name, Match: RouteMatch(r.Match.Conditions)}
	act(out, r, s)
	modify(out, r, s)
	limitClients(out, r.Filters)
	authorize(out, r.Filters)
	addCORS(out, r.Filters)
	delay(out, r.Filters)
	out.Metadata = named(b.origins(r, out.GetRoute() != nil))
	b.write(out, r)
	checked, notes := checkedRoute(out, r, b.hosts)
	b.note(notes...)
	if checked == nil {
		return
	}
	if checked == out {
		b.remember(out, r)
	}
	out = checked
	b.routes, b.rendered = append(b.routes, out), append(b.rendered, r)
	b.clusters = append(b.clusters, clustersOf(out)...)
}

// remember keeps a route for the kinds that may move something to its host.
func (b *tableBuilder) remember(out *routev3.Route, r *effective.Route) {
	for _, e := range r.Policies {
		if _, ok := e.Conf.(HostWriter); ok {
			if b.shared == nil {
				b.shared = map[string][]HostRoute{}
			}
			b.shared[e.Kind.Name] = append(b.shared[e.Kind.Name], HostRoute{out, e})
		}
	}
}

// share lets kinds move to the host what several routes share.
func (b *tableBuilder) share(host *routev3.VirtualHost) {
	for _, kind := range slices.Sorted(maps.Keys(b.shared)) {
		routes := b.shared[kind]
		routes[0].Policy.Conf.(HostWriter).WriteHost(host, routes)
	}
}

func (b *tableBuilder) note(notes ...api.Note) {
	for _, n := range notes {
		if !slices.Contains(b.notes, n) {
			b.notes = append(b.notes, n)
		}
	}
}

func (b *tableBuilder) write(out *routev3.Route, r *effective.Route) {
	at := b.place
	at.Outside = effective.Outside(r.Backends)
	for _, e := range r.Policies {
		if w, ok := e.Conf.(RouteWriter); ok {
			w.WriteRoute(out, at)
		}
	}
}

// origins are all whose values stand in the Envoy routes of r. Routes share
// their policies, so the answer for a policy is kept for the table.
func (b *tableBuilder) origins(r *effective.Route, forwards bool) []*api.Origin {
	out := routeOrigins(r)
	for _, e := range r.Policies {
		key := placeKey{e, forwards}
		found, ok := b.by[key]
		if !ok {
			found = setBy(e, func(c policies.Conf) proto.Message { return b.blank(c, forwards) })
			b.by[key] = found
			b.note(e.Notes()...)
		}
		out = append(out, found...)
	}
	return out
}

func (b *tableBuilder) blank(c policies.Conf, forwards bool) *routev3.Route {
	out := &routev3.Route{Action: respond(&route.Respond{Status: 500})}
	if forwards {
		out.Action = &routev3.Route_Route{Route: forward(split{shares: []share{{cluster: "x", weight: 1}}})}
	}
	if w, ok := c.(RouteWriter); ok {
		w.WriteRoute(out, b.place)
	}
	return out
}

// clustersOf are the clusters that a route names. Unresolved is left out; it
// only ever stands beside others.
func clustersOf(r *routev3.Route) []string {
	var out []string
	if r.TypedPerFilterConfig[authorizationFilter] != nil {
		out = append(out, AuthorizationCluster)
	}
	a := r.GetRoute()
	if name := a.GetCluster(); name != "" {
		out = append(out, name)
	}
	for _, c := range a.GetWeightedClusters().GetClusters() {
		if c.Name != Unresolved {
			out = append(out, c.Name)
		}
	}
	for _, m := range a.GetRequestMirrorPolicies() {
		out = append(out, m.Cluster)
	}
	return out
}
