package xds

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/backends"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/listeners"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/routes"
)

// Notes is what Render has to say of r, found out once for all who ask. It renders nothing
// but what may not come out as it is written: an inbound at a name, what is outside the mesh.
func (x *Renderer) Notes(r *effective.Resolved) []api.Note {
	return r.Noted.Do(func() any { return x.findNotes(r) }).([]api.Note)
}

func (x *Renderer) findNotes(r *effective.Resolved) []api.Note {
	var out origin.Notes
	taken := map[string]bool{}
	free := func(name, address string, port uint32) bool {
		at := naming.Address(address, port)
		if taken[at] {
			out.Add(conflict(r, name+at, at))
			return false
		}
		taken[at] = true
		return true
	}
	for i, o := range r.Outbounds {
		if o.Edge && o.TCP != nil {
			out.Add(backends.Notes(o.TCP)...)
		} else if o.Edge || i > 0 && routes.SameListener(r.Outbounds[i-1], o) {
			out.Add(routes.Notes(o)...)
		} else if free("outbound:", o.Address, o.Port) {
			out.Add(x.OutboundNotes(r, o)...)
		} else if o.Table != nil {
			out.Add(routes.Notes(o)...)
		}
	}
	for _, e := range r.Edges {
		if free("edge:", e.Address, e.Port) && !envoy.IsIP(e.Address) {
			out.Add(x.edge(r, e, r.Hosts(e.Edge), r.Chains(e.Edge)).notes...)
		}
	}
	for _, i := range r.Inbounds {
		if free("inbound:", i.Address, i.Port) {
			out.Add(x.InboundNotes(r, i.Inbound)...)
		}
	}
	out.Add(x.WholeNotes(r)...)
	for i := range r.Clusters {
		out.Add(clusters.Notes(&r.Clusters[i])...)
	}
	return out.List
}

// OutboundNotes is what rendering an outbound of r, and its table, has to say.
func (x *Renderer) OutboundNotes(r *effective.Resolved, o *effective.Outbound) []api.Note {
	var out origin.Notes
	if o.Table != nil {
		out.Add(routes.Notes(o)...)
	}
	if o.TCP != nil {
		out.Add(backends.Notes(o.TCP)...)
	}
	if !envoy.IsIP(o.Address) && !o.Edge {
		_, notes := x.listeners.Outbound(r, o)
		out.Add(notes...)
	}
	return out.List
}

// InboundNotes is what rendering an inbound of r has to say.
func (x *Renderer) InboundNotes(r *effective.Resolved, i *effective.Inbound) []api.Note {
	if envoy.IsIP(i.Address) {
		return nil
	}
	return x.renderInbound(listeners.OwnerOf(r), i).notes
}

// conflict says that a listener of r is left out because of its address.
func conflict(r *effective.Resolved, name, at string) api.Note {
	return api.Note{
		Origin: &api.Origin{Ref: r.Ref}, Severity: api.Error, Code: "Rejected",
		Message: fmt.Sprintf("%s is left out: something else listens at %s; give one of them another address or port", name, at),
	}
}
