// Package routes renders route configurations: of tables, of hosts that share a port, of inbounds.
// Each is made once for what stands beside it.
package routes

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
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/filters"
	"github.com/weftmesh/weft/xds/matchers"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// RenderTable is the route configuration of t, made once for what stands beside it.
func RenderTable(t *effective.Table, beside *effective.Cache) *resource.Resource {
	return formsOf(t, beside).envoy
}

// tableForms are the renderings of one table.
type tableForms struct {
	envoy *resource.Resource
	host  effective.Derived // its virtual host among others, made when the first sidecar calls hosts
	hosts hostSets
	grpc  effective.Derived
}

func formsOf(t *effective.Table, beside *effective.Cache) *tableForms {
	return beside.Rendered().Do(func() any {
		b := Build(t, true)
		config := b.Configuration(t)
		r := resource.New(config.Name, config)
		r.Clusters, r.Notes = slices.Compact(b.Clusters), b.Notes
		return &tableForms{envoy: r}
	}).(*tableForms)
}

// ForGRPC is for what the table is to gRPC clients; made when the first one asks.
func ForGRPC(t *effective.Table, beside *effective.Cache) *effective.Derived {
	return &formsOf(t, beside).grpc
}

// Build renders the routes of t, before they stand in a configuration; counted where a proxy is to count
// what they take.
func Build(t *effective.Table, counted bool) *Builder {
	b := &Builder{place: envoy.Place{Protocol: t.Destination.Protocol}, hosts: t.Destination.Kind == api.KindHost, by: map[placeKey][]*api.Origin{}}
	slots := t.Slots()
	for i, r := range t.Routes {
		name := ""
		if counted {
			name = naming.Slot(slots[i])
		}
		b.add(r, name)
	}
	slices.Sort(b.Clusters)
	return b
}

// Configuration is that of one table.
func (b *Builder) Configuration(t *effective.Table) *routev3.RouteConfiguration {
	return routeConfiguration(naming.Table(t.Destination.ID), b.host(t, "*"))
}

// host is the virtual host of t for a domain.
func (b *Builder) host(t *effective.Table, domain string) *routev3.VirtualHost {
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

// Builder renders routes one after the other.
type Builder struct {
	place    envoy.Place
	hosts    bool // the table is one of a host
	routes   []*routev3.Route
	Rendered []*effective.Route // of routes, one for one
	Clusters []string
	Notes    []api.Note
	by       map[placeKey][]*api.Origin
	shared   map[string][]envoy.HostRoute // of kinds that are HostWriters
}

// placeKey is where a policy acts: a route that forwards, or one that does not.
type placeKey struct {
	*policies.Effective
	forwards, hashed bool
}

// add renders r, whose requests are counted by the name of a slot; empty for nowhere.
func (b *Builder) add(r *effective.Route, slot string) {
	s := backends.Divide(r.Backends)
	if n, ok := s.Note(r); ok {
		b.note(n)
	}
	out := unchecked(r, s)
	filters.LimitClients(out, r.Filters)
	filters.Authorize(out, r.Filters)
	filters.AddCORS(out, r.Filters)
	filters.Delay(out, r.Filters)
	out.Metadata = origin.Metadata(b.origins(r, out.GetRoute() != nil))
	if slot != "" {
		out.StatPrefix, out.Metadata = slot, origin.WithSlot(out.Metadata, slot)
	}
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
	b.routes, b.Rendered = append(b.routes, out), append(b.Rendered, r)
	b.Clusters = append(b.Clusters, clustersOf(out)...)
}

// Unchecked is r before filters and policies write, and before anybody looks what Envoy takes;
// for tests.
func Unchecked(r *effective.Route) *routev3.Route { return unchecked(r, backends.Divide(r.Backends)) }

func unchecked(r *effective.Route, s backends.Split) *routev3.Route {
	out := &routev3.Route{Name: r.Name, Match: matchers.Route(r.Match.Conditions)}
	act(out, r, s)
	modify(out, r, s)
	return out
}

// remember keeps a route for the kinds that may move something to its host.
func (b *Builder) remember(out *routev3.Route, r *effective.Route) {
	for _, e := range r.Policies {
		if _, ok := e.Conf.(envoy.HostWriter); ok {
			if b.shared == nil {
				b.shared = map[string][]envoy.HostRoute{}
			}
			b.shared[e.Kind.Name] = append(b.shared[e.Kind.Name], envoy.HostRoute{Route: out, Policy: e})
		}
	}
}

// share lets kinds move to the host what several routes share.
func (b *Builder) share(host *routev3.VirtualHost) {
	for _, kind := range slices.Sorted(maps.Keys(b.shared)) {
		routes := b.shared[kind]
		routes[0].Policy.Conf.(envoy.HostWriter).WriteHost(host, routes)
	}
}

func (b *Builder) note(notes ...api.Note) {
	for _, n := range notes {
		if !slices.Contains(b.Notes, n) {
			b.Notes = append(b.Notes, n)
		}
	}
}

func (b *Builder) write(out *routev3.Route, r *effective.Route) {
	at := b.place
	at.Outside, at.Hashed = effective.Outside(r.Backends), len(r.Hash) > 0
	for _, e := range r.Policies {
		if w, ok := e.Conf.(envoy.RouteWriter); ok {
			at.Said = e
			w.WriteRoute(out, at)
		}
	}
}

// origins are all whose values stand in the Envoy routes of r. Routes share
// their policies, so the answer for a policy is kept for the table.
func (b *Builder) origins(r *effective.Route, forwards bool) []*api.Origin {
	out := origin.OfRoute(r)
	for _, e := range r.Policies {
		key := placeKey{e, forwards, len(r.Hash) > 0}
		found, ok := b.by[key]
		if !ok {
			at := b.place
			at.Said, at.Hashed = e, key.hashed
			found = origin.SetBy(e, func(c policies.Conf) proto.Message { return Blank(c, at, forwards) })
			b.by[key] = found
			b.note(e.Notes()...)
		}
		out = append(out, found...)
	}
	return out
}

// Blank is a route with nothing in it but what a conf writes.
func Blank(c policies.Conf, at envoy.Place, forwards bool) *routev3.Route {
	out := &routev3.Route{Action: respond(&route.Respond{Status: 500})}
	if forwards {
		out.Action = &routev3.Route_Route{Route: forward(backends.Split{Shares: []backends.Share{{Cluster: "x", Weight: 1}}})}
	}
	if w, ok := c.(envoy.RouteWriter); ok {
		w.WriteRoute(out, at)
	}
	return out
}

// clustersOf are the clusters that a route names. Unresolved is left out; it
// only ever stands beside others.
func clustersOf(r *routev3.Route) []string {
	var out []string
	if r.TypedPerFilterConfig[filters.AuthorizationName] != nil {
		out = append(out, naming.Authorization)
	}
	a := r.GetRoute()
	if name := a.GetCluster(); name != "" {
		out = append(out, name)
	}
	for _, c := range a.GetWeightedClusters().GetClusters() {
		if c.Name != naming.Unresolved {
			out = append(out, c.Name)
		}
	}
	for _, m := range a.GetRequestMirrorPolicies() {
		out = append(out, m.Cluster)
	}
	return out
}

// Notes is what rendering the table of an outbound has to say; it renders nothing.
func Notes(o *effective.Outbound) []api.Note {
	if known, ok := o.Cache.Rendered().Made(); ok {
		return known.(*tableForms).envoy.Notes
	}
	var out origin.Notes
	seen := map[*policies.Effective]bool{}
	for _, r := range o.Table.Routes {
		if n, ok := backends.Divide(r.Backends).Note(r); ok {
			out.Add(n)
		}
		for _, e := range r.Policies {
			if !seen[e] {
				seen[e] = true
				out.Add(e.Notes()...)
			}
		}
	}
	return out.List
}
