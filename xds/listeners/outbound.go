package listeners

import (
	"cmp"
	"slices"

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
	redirected bool // the dataplane's traffic is redirected to it
	reports    bool // its agent takes what is written of requests
}

// ownOutbound is the listener of an outbound, and what is to say about it.
type ownOutbound struct {
	at       place
	parts    RoutedConfs // of the hosts there
	listener *resource.Resource
	notes    []api.Note
}

// Outbound renders the listener by which the workload calls a destination, once
// for as long as o and the way traffic comes last: most changes leave most of a
// sidecar's listeners alone. It names no dataplane, so that all that listen for
// the same at the same address have one (spec/xds.md 1, 12).
//
// Hosts are all that are told apart there, o the first of them; none where o is no host.
func (b *Builder) Outbound(r *effective.Resolved, o *effective.Outbound, hosts ...*effective.Outbound) (*resource.Resource, []api.Note) {
	at, parts := place{o.Address, o.Port, transparent(r), b.reports}, RoutedConfsOf(hosts...)
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
	own.listener, own.notes = b.renderOutbound(r, o, b.common(outboundChain(r, o, parts)))
	return own
}

// sharedOutbound is one for all outbounds with the same configuration in one place. What is
// refused is not shared: its note names the dataplane.
func (b *Builder) sharedOutbound(r *effective.Resolved, o *effective.Outbound, at place) *ownOutbound {
	kept := o.Cache.Listeners()
	if o.Passthrough {
		kept = o.Cache.Passing()
	}
	in := kept.Do(func() any { return new(forms) }).(*forms).of(b.reports).Do(func() any { return b.common(outboundChain(r, o, RoutedConfsOf(o))) }).(*common)
	var refused *ownOutbound
	return cmp.Or(in.listeners.Get(at, func() *ownOutbound {
		own := &ownOutbound{at: at}
		if own.listener, own.notes = b.renderOutbound(r, o, in); own.listener == nil {
			refused = own
			return nil
		}
		return own
	}), refused)
}

// forms are what listeners have in common, for sidecars whose agents take what is written of requests,
// and for those without; each is made for the first who needs it.
type forms struct{ reporting, quiet effective.Derived }

func (f *forms) of(reports bool) *effective.Derived {
	if reports {
		return &f.reporting
	}
	return &f.quiet
}

func outboundChain(r *effective.Resolved, o *effective.Outbound, parts RoutedConfs) chain {
	at := envoy.Place{Protocol: o.Protocol(), Mesh: r.Ref.Mesh, Service: o.Destination.Name}
	c := chain{place: at, routes: naming.OutboundRoutes(o), stat: o.Destination.ID, ps: o.Policies, of: parts.ofRoutes()}
	switch {
	case o.ToHost():
		c.stat, c.hosts, c.passes, c.place.Service = c.routes, true, o.Passthrough, anyService
	case o.Table == nil:
		c.split, c.by = backends.Divide(o.TCP.Backends), o.TCP.BackendsBy
		for _, s := range o.TCP.ServerNames {
			c.names = append(c.names, serverName{s.Name, backends.Divide(s.Backends), s.BackendsBy})
		}
	}
	return c
}

// anyService is called where hosts are told apart only by their routes.
const anyService = "*"

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
