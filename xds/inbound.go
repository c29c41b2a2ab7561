package xds

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/routes"
)

// ownInbound is everything that one port of the workload needs.
type ownInbound struct {
	redirected                bool // the dataplane's traffic is redirected to it
	reports                   bool // its agent takes what is written of requests
	service                   string
	listener, routes, cluster *resource.Resource
	notes                     []api.Note
}

func (o *ownInbound) resources() []*resource.Resource {
	return []*resource.Resource{o.listener, o.routes, o.cluster}
}

// inbound renders i, once for as long as i and the way traffic comes last. What is sent of it is
// made again for who asks later: no other sidecar has it.
func (x *Renderer) inbound(r *effective.Resolved, i effective.InboundUse) *ownInbound {
	whose := listeners.OwnerOf(r)
	render := func() any {
		own := x.renderInbound(whose, i.Inbound)
		resource.Release(own.resources(), func() []*resource.Resource { return x.renderInbound(whose, i.Inbound).resources() })
		return own
	}
	own := i.Cache.Do(render).(*ownInbound)
	if own.redirected != whose.Redirected || own.reports != x.listeners.Reports() || own.service != whose.Service {
		return render().(*ownInbound)
	}
	return own
}

func (x *Renderer) renderInbound(whose listeners.Dataplane, i *effective.Inbound) *ownInbound {
	own, at := &ownInbound{redirected: whose.Redirected, reports: x.listeners.Reports(), service: whose.Service}, envoy.InboundPlace(i)
	var said, more []api.Note
	if at.Protocol.HTTPLike() {
		own.routes, own.notes = routes.RenderInbound(at, i)
	}
	own.listener, said = x.listeners.Inbound(whose, at, i)
	own.cluster, more = clusters.RenderInbound(at, i, whose.Redirected)
	own.notes = append(append(own.notes, said...), more...)
	return own
}
