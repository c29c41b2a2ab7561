// Package endpoints renders who answers for a cluster.
package endpoints

import (
	"cmp"
	"fmt"
	"slices"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/resource"
)

// forms are the renderings of one list: for those who prefer nobody, and for those who prefer the same, for as long
// as there are any.
type forms struct {
	plain effective.Derived
	near  resource.Weak[string, resource.Resource]
}

// Render is who answers for one cluster of r, made once for all who prefer the same. Endpoints keep their order
// within a zone. One whose address is no IP is left out with a note: Envoy takes only addresses here.
func Render(r *effective.Resolved, c *effective.ClusterUse) *resource.Resource {
	made := c.EndpointsCache.Do(func() any { return &forms{} }).(*forms)
	if near := r.Nearness(c.Cluster); len(near.Tags) > 0 {
		return made.near.Get(near.String(), func() *resource.Resource { return render(c.Endpoints, &near) })
	}
	return made.plain.Do(func() any { return render(c.Endpoints, &effective.Nearness{}) }).(*resource.Resource)
}

func render(e *effective.Endpoints, near *effective.Nearness) *resource.Resource {
	out := &endpointv3.ClusterLoadAssignment{ClusterName: e.Name}
	groups, notes := groupEndpoints(e, near)
	for _, g := range groups {
		out.Endpoints = append(out.Endpoints, g.render(near))
	}
	if near.Overprovisioning > 0 {
		out.Policy = &endpointv3.ClusterLoadAssignment_Policy{OverprovisioningFactor: wrapperspb.UInt32(near.Overprovisioning)}
	}
	r := resource.New(e.Name, out)
	r.Notes = notes
	return r
}

// zoneGroup is the endpoints of one zone at one priority which the caller prefers alike.
type zoneGroup struct {
	priority uint32 // in the document, then its rank
	zone     string
	near     int // the place of what they share with the caller; behind all where that is nothing
	list     []effective.Endpoint
}

func groupEndpoints(e *effective.Endpoints, near *effective.Nearness) ([]*zoneGroup, []api.Note) {
	var groups []*zoneGroup
	var notes []api.Note
	for _, p := range e.List {
		if !envoy.IsIP(p.Address) {
			notes = append(notes, api.Note{
				Severity: api.Error, Code: "Rejected",
				Message: fmt.Sprintf("endpoint %s:%d of %s is left out: its address is no IP; give the dataplane an IP address", p.Address, p.Port, e.Name),
			})
			continue
		}
		shared := near.At(&p)
		at := slices.IndexFunc(groups, func(g *zoneGroup) bool { return g.priority == p.Priority && g.zone == p.Zone && g.near == shared })
		if at < 0 {
			at = len(groups)
			groups = append(groups, &zoneGroup{priority: p.Priority, zone: p.Zone, near: shared})
		}
		groups[at].list = append(groups[at].list, p)
	}
	slices.SortFunc(groups, func(a, b *zoneGroup) int {
		return cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.zone, b.zone), cmp.Compare(a.near, b.near))
	})
	rank, last := uint32(0), uint32(0)
	for i, g := range groups { // Envoy and gRPC count priorities from zero, without gaps
		if i > 0 && g.priority != last {
			rank++
		}
		last, g.priority = g.priority, rank
	}
	return groups, notes
}

// render always sets locality and weight: gRPC ignores a group without them.
func (g *zoneGroup) render(near *effective.Nearness) *endpointv3.LocalityLbEndpoints {
	out := &endpointv3.LocalityLbEndpoints{
		Locality:            &corev3.Locality{Zone: g.zone},
		Priority:            g.priority,
		LoadBalancingWeight: wrapperspb.UInt32(uint32(len(g.list))),
	}
	if len(near.Tags) > 0 {
		out.LoadBalancingWeight = wrapperspb.UInt32(near.Weight(g.near))
	}
	if g.near < len(near.Tags) {
		out.Locality.SubZone = near.Tags[g.near].String()
	}
	for _, p := range g.list {
		said := tagMetadata(p.Tags)
		if p.Plain {
			said = plainEndpoint(said)
		}
		out.LbEndpoints = append(out.LbEndpoints, envoy.LbEndpoint(envoy.Socket(p.Address, p.Port), said))
	}
	return out
}

// SocketMatch is where Envoy looks for which transport socket an endpoint has.
const SocketMatch = "envoy.transport_socket_match"

// SocketTLS is the key by which endpoints say how they are called, none that it is in plain
// text. An endpoint that says nothing is called by TLS.
const (
	SocketTLS   = "weft.io/tls"
	PlainSocket = "none"
)

// plainEndpoint is said of an endpoint that is called in plain text.
func plainEndpoint(m *corev3.Metadata) *corev3.Metadata {
	mark := envoy.TextMetadata(SocketMatch, map[string]string{SocketTLS: PlainSocket})
	if m != nil {
		m.FilterMetadata[SocketMatch] = mark.FilterMetadata[SocketMatch]
		return m
	}
	return mark
}

func tagMetadata(tags map[string]string) *corev3.Metadata {
	fields := make(map[string]string, len(tags))
	for k, v := range tags {
		if k != api.TagService {
			fields[k] = v
		}
	}
	return envoy.TextMetadata("envoy.lb", fields)
}
