package listeners

import (
	"cmp"

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
	service    string // the dataplane's own, where a policy names it
}

// ownOutbound is the listener of an outbound, and what is to say about it.
type ownOutbound struct {
	at       place
	listener *resource.Resource
	notes    []api.Note
	in       *common // which stays for as long as it
}

// commons are what listeners of one configuration have in common: alike for all dataplanes, or where a
// policy names the dataplane's own service one for each of those.
type commons struct {
	all effective.Derived
	by  resource.Weak[string, common]
}

func (c *commons) of(service string, make func() *common) *common {
	if service == "" {
		return c.all.Do(func() any { return make() }).(*common)
	}
	return c.by.Get(service, make)
}

// Outbound renders the listener by which the workload calls a destination, once
// for as long as o and the way traffic comes last: most changes leave most of a
// sidecar's listeners alone. It names no dataplane, so that all that listen for
// the same at the same address have one (spec/xds.md 1, 12).
func (b *Builder) Outbound(r *effective.Resolved, o *effective.Outbound) (*resource.Resource, []api.Note) {
	at := place{o.Address, o.Port, transparent(r), ""}
	if envoy.NamesService(o.Policies) {
		at.service = serviceOf(r)
	}
	own := o.Listener.Do(func() any { return b.sharedOutbound(r, o, at) }).(*ownOutbound)
	if own.at != at || own.listener == nil { // what is said of a refusal names the dataplane
		own = b.sharedOutbound(r, o, at)
	}
	return own.listener, own.notes
}

// sharedOutbound is one for all outbounds with the same configuration in one place. What is
// refused is not shared: its note names the dataplane.
func (b *Builder) sharedOutbound(r *effective.Resolved, o *effective.Outbound, at place) *ownOutbound {
	kept := o.Cache.Listeners()
	if o.Passthrough {
		kept = o.Cache.Passing()
	}
	in := kept.Do(func() any { return new(commons) }).(*commons).of(at.service, func() *common { return b.common(outboundChain(o, at.service)) })
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

func outboundChain(o *effective.Outbound, service string) chain {
	c := chain{place: envoy.Place{Protocol: o.Protocol(), Service: service, Destination: o.Destination.Name}, routes: naming.OutboundRoutes(o), stat: o.Destination.ID, ps: o.Policies}
	switch {
	case o.ToHost():
		c.stat, c.hosts, c.passes, c.place.Destination = c.routes, true, o.Passthrough, ""
	case o.Table == nil:
		c.split, c.by = backends.Divide(o.TCP.Backends), o.TCP.BackendsBy
		for _, s := range o.TCP.ServerNames {
			c.names = append(c.names, serverName{s.Name, backends.Divide(s.Backends), s.BackendsBy})
		}
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
