package xds

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// ownInbound is everything that one port of the workload needs.
type ownInbound struct {
	redirected                bool // the dataplane's traffic is redirected to it
	listener, routes, cluster *Resource
	notes                     []api.Note
}

// inbound renders i, once for as long as i and the way traffic comes last.
func (x *Renderer) inbound(r *resolve.Resolved, i resolve.InboundUse) *ownInbound {
	redirected := transparent(r)
	own := i.Kept.Do(func() any { return x.renderInbound(r, i.Inbound, redirected) }).(*ownInbound)
	if own.redirected != redirected {
		return x.renderInbound(r, i.Inbound, redirected)
	}
	return own
}

func (x *Renderer) renderInbound(r *resolve.Resolved, i *resolve.Inbound, redirected bool) *ownInbound {
	name := "inbound:" + joined(i.Address, i.Port)
	own := &ownInbound{redirected: redirected}
	place := inboundPlace(i)
	c := chain{place: Place{Protocol: i.Protocol, Inbound: true, Domains: place.Domains}, stat: name, ps: i.Policies}
	if place.Protocol.HTTPLike() {
		c.routes = name
		own.routes, own.notes = inboundRoutes(name, place, i.Policies)
	} else {
		c.split = split{shares: []share{{cluster: name, weight: 1}}}
	}
	listener := &listenerv3.Listener{Name: name, TrafficDirection: corev3.TrafficDirection_INBOUND}
	var notes []api.Note
	in := x.common(c)
	if i.Guarded || i.TLS != nil {
		x.inboundChains(r, i, c, in)
	}
	own.listener, notes = x.listener(listener, i.Address, i.Port, in, r, i.Tags)
	own.notes = append(own.notes, notes...)
	own.cluster, notes = inboundCluster(name, place, i, redirected)
	own.notes = append(own.notes, notes...)
	return own
}

// inboundRoutes has one route: to the workload.
func inboundRoutes(name string, place Place, ps resolve.Policies) (*Resource, []api.Note) {
	out := &routev3.Route{
		Name:  name,
		Match: &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
		Action: &routev3.Route_Route{Route: &routev3.RouteAction{
			Timeout: durationpb.New(0), ClusterSpecifier: &routev3.RouteAction_Cluster{Cluster: name},
		}},
	}
	var origins []*api.Origin
	b := tableBuilder{place: place}
	for _, e := range ps {
		origins = append(origins, setBy(e, func(c policies.Conf) proto.Message { return b.blank(c, true) })...)
	}
	out.Metadata = named(origins)
	b.write(out, &resolve.Route{Policies: ps})
	checked, notes := checkedRoute(out, &resolve.Route{Policies: ps}, false)
	host := &routev3.VirtualHost{Name: name, Domains: []string{"*"}, Routes: []*routev3.Route{checked}}
	for _, e := range ps {
		if w, ok := e.Conf.(InboundWriter); ok {
			w.WriteInbound(host, place)
		}
	}
	config := &routev3.RouteConfiguration{
		Name:                   name,
		ValidateClusters:       wrapperspb.Bool(false),
		RequestHeadersToRemove: []string{route.TagsHeader},
		VirtualHosts:           []*routev3.VirtualHost{host},
	}
	r := newResource(name, config)
	r.Clusters = clustersOf(checked)
	return r, notes
}

func inboundCluster(name string, place Place, i *resolve.Inbound, redirected bool) (*Resource, []api.Note) {
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
