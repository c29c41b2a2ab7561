package listeners

import (
	"cmp"
	"slices"
	"strings"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// place is where and how an outbound listens.
type place struct {
	address    string
	port       uint32
	redirected bool   // the dataplane's traffic is redirected to it
	reports    bool   // its agent takes what is written of requests
	service    string // the dataplane's own, where a policy names it
}

// ownOutbound is the listener of an outbound, and what is to say about it.
type ownOutbound struct {
	at       place
	parts    RoutedConfs // of the hosts there
	listener *resource.Resource
	notes    []api.Note
	in       *common // which stays for as long as it
}

// commons are what listeners of one configuration have in common, for sidecars whose agents take what is
// written of requests and for those without: alike for all dataplanes, or where a policy names the
// dataplane's own service one for each of those. Each is made for the first who needs it.
type commons struct {
	reporting, quiet effective.Derived
	by               resource.Weak[ownCommon, common]
}

type ownCommon struct {
	service string
	reports bool
}

func (c *commons) of(at place, make func() *common) *common {
	switch {
	case at.service != "":
		return c.by.Get(ownCommon{at.service, at.reports}, make)
	case at.reports:
		return c.reporting.Do(func() any { return make() }).(*common)
	}
	return c.quiet.Do(func() any { return make() }).(*common)
}

// Outbound renders the listener by which the workload calls a destination, once
// for as long as o and the way traffic comes last: most changes leave most of a
// sidecar's listeners alone. It names no dataplane, so that all that listen for
// the same at the same address have one (spec/xds.md 1, 12).
//
// Hosts are all that are told apart there, o the first of them; none where o is no host.
func (b *Builder) Outbound(r *effective.Resolved, o *effective.Outbound, hosts ...*effective.Outbound) (*resource.Resource, []api.Note) {
	at, parts := place{o.Address, o.Port, transparent(r), b.reports, ""}, RoutedConfsOf(hosts...)
	if envoy.NamesService(o.Policies) {
		at.service = serviceOf(r)
	}
	render := func() *ownOutbound {
		if len(parts) > 0 { // the first host alone does not say what the listener needs
			return b.hostsOutbound(r, o, at, parts)
		}
		return b.sharedOutbound(r, o, at)
	}
	own := o.Listener.Do(func() any { return render() }).(*ownOutbound)
	if own.at != at || own.listener == nil || !slices.Equal(own.parts, parts) { // what is said of a refusal names the dataplane
		own = render()
	}
	return own.listener, own.notes
}

// hostsOutbound is the listener for hosts of which some need something in it.
func (b *Builder) hostsOutbound(r *effective.Resolved, o *effective.Outbound, at place, parts RoutedConfs) *ownOutbound {
	own := &ownOutbound{at: at, parts: parts}
	own.listener, own.notes = b.renderOutbound(r, o, b.common(outboundChain(r, o, at.service, parts)))
	return own
}

// sharedOutbound is one for all outbounds with the same configuration in one place. What is
// refused is not shared: its note names the dataplane.
func (b *Builder) sharedOutbound(r *effective.Resolved, o *effective.Outbound, at place) *ownOutbound {
	kept := o.Cache.Listeners()
	if o.Passthrough {
		kept = o.Cache.Passing()
	}
	in := kept.Do(func() any { return new(commons) }).(*commons).of(at, func() *common { return b.common(outboundChain(r, o, at.service, RoutedConfsOf(o))) })
	var refused *ownOutbound
	return cmp.Or(in.listeners.Get(at, func() *ownOutbound {
		own := &ownOutbound{at: at, in: in}
		if own.listener, own.notes = b.renderOutbound(r, o, in); own.listener == nil {
			refused = own
			return nil
		}
		return own
	}), refused)
}

func outboundChain(r *effective.Resolved, o *effective.Outbound, service string, parts RoutedConfs) chain {
	at := envoy.Place{Protocol: o.Protocol(), Mesh: r.Ref.Mesh, Service: service, Destination: o.Destination.Name}
	c := chain{place: at, routes: naming.OutboundRoutes(o), stat: o.Destination.ID, ps: o.Policies, of: parts.ofRoutes()}
	switch {
	case o.ToHost():
		c.stat, c.hosts, c.passes, c.place.Destination = c.routes, true, o.Passthrough, ""
	case o.Table == nil:
		c.split, c.by = backends.Divide(o.TCP.Backends), o.TCP.BackendsBy
		for _, s := range o.TCP.ServerNames {
			c.names = append(c.names, serverName{s.Name, backends.Divide(s.Backends), s.BackendsBy})
		}
	}
	if strings.Contains(c.stat, ".") {
		c.stat = naming.Stat(c.stat)
	}
	return c
}

func (b *Builder) renderOutbound(r *effective.Resolved, o *effective.Outbound, in *common) (*resource.Resource, []api.Note) {
	out := &listenerv3.Listener{
		Name:             naming.OutboundListener(o),
		TrafficDirection: corev3.TrafficDirection_OUTBOUND,
	}
	tags := map[string]string{api.TagService: o.Destination.Name}
	if o.ToHost() {
		tags[api.TagService] = naming.OutboundHosts(o)
	}
	res, notes := b.listener(out, o.Address, o.Port, in, OwnerOf(r), tags)
	if o.TCP != nil {
		notes = append(notes, backends.Notes(o.TCP)...)
	}
	return res, notes
}
