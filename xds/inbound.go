package xds

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// ownInbound is everything that one port of the workload needs.
type ownInbound struct {
	redirected                bool // the dataplane's traffic is redirected to it
	listener, routes, cluster *Resource
	notes                     []api.Note
}

// inbound renders i, once for as long as i and the way traffic comes last.
func (x *Renderer) inbound(r *effective.Resolved, i effective.InboundUse) *ownInbound {
	whose := ownerOf(r)
	render := func() any { return x.renderInbound(whose, i.Inbound).release(x, whose, i.Inbound) }
	own := i.Kept.Do(render).(*ownInbound)
	if own.redirected != whose.redirected {
		return render().(*ownInbound)
	}
	return own
}

// inboundName is that of an inbound's listener, cluster and routes; with mutual TLS guardedRoutes ends that of its routes.
func inboundName(i *effective.Inbound) string { return "inbound:" + joined(i.Address, i.Port) }

func (x *Renderer) renderInbound(whose owner, i *effective.Inbound) *ownInbound {
	name := inboundName(i)
	own := &ownInbound{redirected: whose.redirected}
	place := inboundPlace(i)
	c := chain{place: Place{Protocol: i.Protocol, Inbound: true, Domains: place.Domains, Paths: place.Paths}, stat: name, ps: i.Policies}
	if place.Protocol.HTTPLike() {
		c.routes = name
		if i.TLS != nil {
			c.routes += guardedRoutes
		}
		own.routes, own.notes = inboundRoutes(c.routes, name, place, i)
	} else {
		c.split = split{shares: []share{{cluster: name, weight: 1}}}
	}
	listener := &listenerv3.Listener{Name: name, TrafficDirection: corev3.TrafficDirection_INBOUND}
	var notes []api.Note
	in := x.common(c)
	if i.Guarded || i.TLS != nil {
		x.inboundChains(whose.ref, i, c, in)
		listener.AccessLog = connectionLog(i.TLS)
	}
	own.listener, notes = x.listener(listener, i.Address, i.Port, in, whose, i.Tags)
	own.notes = append(own.notes, notes...)
	own.cluster, notes = inboundCluster(name, place, i, whose.redirected)
	own.notes = append(own.notes, notes...)
	return own
}

// guardedRoutes ends the name of the routes of an inbound that takes mutual TLS. Connections
// outlive the listener by which they came, and follow its routes: were those of the listener
// after it the same ones, callers in the middle of a connection would be refused as soon as
// mutual TLS is taken back, for filters without a word of who may come in are closed.
const guardedRoutes = ":mtls"

// inboundRoutes is, under a name of its own, one route to the workload for each of those callers
// who are told apart, and one for all others.
func inboundRoutes(named, name string, place Place, i *effective.Inbound) (*Resource, []api.Note) {
	b := tableBuilder{place: place}
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
	r := newResource(named, config)
	slices.Sort(b.clusters)
	r.Clusters = slices.Compact(b.clusters)
	return r, b.notes
}

// inboundRule adds the routes of a rule, nil for what none takes: one for each of those callers
// who are told apart, and one for all others.
func (b *tableBuilder) inboundRule(name string, i *effective.Inbound, rule *effective.InboundRule) {
	match := func() *routev3.RouteMatch {
		if rule == nil {
			return &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}}
		}
		return RouteMatch(rule.Match.Conditions)
	}
	for _, c := range i.Callers {
		of := match()
		of.Headers = append(of.Headers, callersMatch(c.Callers))
		b.inbound(name, of, rule, c.Policies)
	}
	b.inbound(name, match(), rule, i.Policies)
}

// guard writes who may come in by what ps say, and reports whether a bug keeps it from being
// written: then filters has no word of it, and those of the chain are closed (spec/identity.md 7,
// I13).
func (b *tableBuilder) guard(filters *map[string]*anypb.Any, ps effective.Policies) (failed bool) {
	for _, e := range ps {
		w, ok := e.Conf.(InboundWriter)
		if !ok {
			continue
		}
		if bug := recovered(func() { w.WriteInbound(filters, b.place) }); bug != nil {
			*filters, failed = nil, true
			for _, f := range e.Fields {
				o := f.Winner().Origin
				b.note(api.Note{Origin: o, Severity: api.Error, Code: conditions.Unresolvable, Field: o.Field,
					Message: fmt.Sprintf("a bug in weft keeps it from being carried out, so nobody gets in where it holds; report it: %v", bug)})
			}
		}
	}
	return failed
}

// recovered is what f panicked with; nil if it did not.
func recovered(f func()) (bug any) {
	defer func() { bug = recover() }()
	f()
	return nil
}

// inbound adds a route to the workload.
func (b *tableBuilder) inbound(name string, match *routev3.RouteMatch, rule *effective.InboundRule, ps effective.Policies) {
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
			if b.guard(&out.TypedPerFilterConfig, effective.Policies{rule.Permission}) { // what holds of all is not for these
				out.Action = respond(&route.Respond{Status: 403})
			}
			for _, f := range rule.Permission.Fields {
				origins = append(origins, f.Winner().Origin)
			}
		}
	}
	for _, e := range ps {
		origins = append(origins, setBy(e, func(c policies.Conf) proto.Message { return b.blank(c, true) })...)
	}
	out.Metadata = named(origins)
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
	b.clusters = append(b.clusters, clustersOf(checked)...)
}

// callersMatch holds of the requests of callers whose certificate proves their ID: of the
// header in which Envoy itself writes the names, in place of what came. Only names behind
// others of the same domain count: that the first is one of its domain is checked in the
// handshake, and who speaks for another domain may write anything behind it (F2).
func callersMatch(c effective.Callers) *routev3.HeaderMatcher {
	domain, _, _ := strings.Cut(strings.TrimPrefix(c.ID, spiffe.Scheme), "/")
	name := regexp.QuoteMeta(c.ID)
	if c.Below {
		name += "(/[^;]*)?"
	}
	before := "(URI=" + regexp.QuoteMeta(spiffe.Scheme+domain) + "/[^;]*;)*"
	return &routev3.HeaderMatcher{
		Name: "x-forwarded-client-cert",
		HeaderMatchSpecifier: &routev3.HeaderMatcher_StringMatch{StringMatch: &matcherv3.StringMatcher{
			MatchPattern: &matcherv3.StringMatcher_SafeRegex{SafeRegex: &matcherv3.RegexMatcher{
				Regex: "(By=[^;]*;)*Hash=[0-9a-f]+;" + before + "URI=" + name + "(;.*)?",
			}},
		}},
	}
}

func inboundCluster(name string, place Place, i *effective.Inbound, redirected bool) (*Resource, []api.Note) {
	out := &clusterv3.Cluster{
		Name:                 name,
		ConnectTimeout:       durationpb.New(connectTimeout),
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment:       assignment(name, [][]hostPort{{{i.ServiceAddress, i.ServicePort}}}),
		CircuitBreakers:      thresholds(),
	}
	if !isIP(i.ServiceAddress) {
		out.ClusterDiscoveryType = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}
	}
	if redirected {
		out.UpstreamBindConfig = bindTo(sourceFor(i.ServiceAddress))
	}
	origins := finishCluster(out, upstreamProtocol(place.Protocol, false), i.Policies, place)
	out.Metadata = named(origins)
	if err := out.ValidateAll(); err != nil {
		return nil, refused(origins, "the workload is not reached at this port", err)
	}
	return newResource(name, out), nil
}
