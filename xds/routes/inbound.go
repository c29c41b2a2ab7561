package routes

import (
	"fmt"
	"slices"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/matchers"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

// RenderInbound is, under a name of its own, one route to the workload for each of those callers
// who are told apart, and one for all others.
func RenderInbound(place envoy.Place, i *effective.Inbound) (*resource.Resource, []api.Note) {
	named, name := naming.InboundRoutes(i), naming.Inbound(i)
	b := Builder{place: place}
	for n := range i.Rules {
		b.inboundRule(name, i, &i.Rules[n])
	}
	b.inboundRule(name, i, nil)
	host := &routev3.VirtualHost{Name: name, Domains: []string{"*"}, Routes: b.routes}
	b.share(host)
	b.guard(&host.TypedPerFilterConfig, i.Policies)
	config := &routev3.RouteConfiguration{
		Name:                   named,
		ValidateClusters:       wrapperspb.Bool(false),
		RequestHeadersToRemove: []string{route.TagsHeader},
		// Of the workload's answers. The mark of the connection manager comes after it.
		ResponseHeadersToRemove: []string{route.UnsentHeader},
		VirtualHosts:            []*routev3.VirtualHost{host},
	}
	r := resource.New(named, config)
	slices.Sort(b.Clusters)
	r.Clusters = slices.Compact(b.Clusters)
	return r, b.Notes
}

// inboundRule adds the routes of a rule, nil for what none takes: one for each of those callers
// who are told apart, and one for all others.
func (b *Builder) inboundRule(name string, i *effective.Inbound, rule *effective.InboundRule) {
	match := func() *routev3.RouteMatch {
		if rule == nil {
			return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
		}
		return matchers.Route(rule.Match.Conditions)
	}
	for _, c := range i.Callers {
		of := match()
		of.Headers = append(of.Headers, matchers.AllOfCaller(c.CallerMatch)...)
		b.inbound(name, of, rule, c.Policies)
	}
	b.inbound(name, match(), rule, i.Policies)
}

// guard writes who may come in by what ps say, and reports whether a bug keeps it from being
// written: then filters has no word of it, and those of the chain are closed (spec/identity.md 7,
// I13).
func (b *Builder) guard(filters *map[string]*anypb.Any, ps effective.Policies) (failed bool) {
	for _, e := range ps {
		w, ok := e.Conf.(envoy.InboundWriter)
		if !ok {
			continue
		}
		if bug := recovered(func() { w.WriteInbound(filters, b.place) }); bug != nil {
			*filters = nil
			for _, f := range e.Fields {
				o := f.Winner().Origin
				b.note(api.Note{Origin: o, Severity: api.Error, Code: conditions.Unresolvable, Field: o.Field,
					Message: fmt.Sprintf("a bug in weft keeps it from being carried out, so nobody gets in where it holds; report it: %v", bug)})
			}
			return true // by no other kind alone either
		}
	}
	return false
}

// recovered is what f panicked with; nil if it did not.
func recovered(f func()) (bug any) {
	defer func() { bug = recover() }()
	f()
	return nil
}

// inbound adds a route to the workload.
func (b *Builder) inbound(name string, match *routev3.RouteMatch, rule *effective.InboundRule, ps effective.Policies) {
	out := &routev3.Route{
		Name:  name,
		Match: match,
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			Timeout: durationpb.New(0), ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name},
		}},
	}
	var origins []*api.Origin
	if rule != nil {
		origins = append(origins, rule.Rules...)
		if rule.Permission != nil {
			if b.guard(&out.TypedPerFilterConfig, rule.Permissions()) { // what holds of all is not for these
				out.Action = respond(&route.Respond{Status: 403})
			}
			for _, e := range rule.Permissions() {
				for _, f := range e.Fields {
					origins = append(origins, f.Winner().Origin)
				}
			}
		}
	}
	for _, e := range ps {
		origins = append(origins, origin.SetBy(e, func(c policies.Conf) proto.Message { return Blank(c, b.place, true) })...)
	}
	out.Metadata = origin.Metadata(origins)
	r := &effective.Route{Policies: ps}
	b.write(out, r)
	checked, notes := checkedRoute(out, r, false)
	b.note(notes...)
	if checked == nil {
		return
	}
	if checked == out {
		b.remember(out, r)
	}
	b.routes = append(b.routes, checked)
	b.Clusters = append(b.Clusters, clustersOf(checked)...)
}
