package xds

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// Notes is what Render has to say of r, found out once for all who ask. It renders nothing
// but what may not come out as it is written: an inbound at a name, what is outside the mesh.
func (x *Renderer) Notes(r *effective.Resolved) []api.Note {
	return r.Noted.Do(func() any { return x.findNotes(r) }).([]api.Note)
}

func (x *Renderer) findNotes(r *effective.Resolved) []api.Note {
	var out noteSet
	taken := map[string]bool{}
	free := func(name, address string, port uint32) bool {
		at := joined(address, port)
		if taken[at] {
			out.add(conflict(r, name+at, at))
			return false
		}
		taken[at] = true
		return true
	}
	for i, o := range r.Outbounds {
		if o.Edge && o.TCP != nil {
			out.add(tcpNotes(o.TCP)...)
		} else if o.Edge || i > 0 && sameListener(r.Outbounds[i-1], o) {
			out.add(tableNotes(o)...)
		} else if free("outbound:", o.Address, o.Port) {
			out.add(x.OutboundNotes(r, o)...)
		} else if o.Table != nil {
			out.add(tableNotes(o)...)
		}
	}
	for _, e := range r.Edges {
		if free("edge:", e.Address, e.Port) && !isIP(e.Address) {
			out.add(x.edge(r, e, r.Hosts(e.Edge), r.Chains(e.Edge)).notes...)
		}
	}
	for _, i := range r.Inbounds {
		if free("inbound:", i.Address, i.Port) {
			out.add(x.InboundNotes(r, i.Inbound)...)
		}
	}
	for i := range r.Clusters {
		out.add(ClusterNotes(&r.Clusters[i])...)
	}
	return out.list
}

// OutboundNotes is what rendering an outbound of r, and its table, has to say.
func (x *Renderer) OutboundNotes(r *effective.Resolved, o *effective.Outbound) []api.Note {
	var out noteSet
	if o.Table != nil {
		out.add(tableNotes(o)...)
	}
	if o.TCP != nil {
		out.add(tcpNotes(o.TCP)...)
	}
	if !isIP(o.Address) && !o.Edge {
		_, notes := x.outbound(r, o)
		out.add(notes...)
	}
	return out.list
}

// InboundNotes is what rendering an inbound of r has to say.
func (x *Renderer) InboundNotes(r *effective.Resolved, i *effective.Inbound) []api.Note {
	if isIP(i.Address) {
		return nil
	}
	return x.renderInbound(ownerOf(r), i).notes
}

// ClusterNotes is what rendering a cluster has to say.
func ClusterNotes(u *effective.ClusterUse) []api.Note {
	if u.Destination.External == nil {
		return nil
	}
	r, notes := RenderCluster(u.Cluster, u.ClusterKept)
	if r != nil {
		notes = slices.Concat(notes, r.Notes)
	}
	return notes
}

func tableNotes(o *effective.Outbound) []api.Note {
	if known, ok := o.Kept.Rendered().Known(); ok {
		return known.(*tableForms).envoy.Notes
	}
	var out noteSet
	seen := map[*policies.Effective]bool{}
	for _, r := range o.Table.Routes {
		if n, ok := divide(r.Backends).note(r); ok {
			out.add(n)
		}
		for _, e := range r.Policies {
			if !seen[e] {
				seen[e] = true
				out.add(e.Notes()...)
			}
		}
	}
	return out.list
}

func tcpNotes(t *effective.TCPTable) []api.Note {
	var out []api.Note
	for part := range t.Parts() {
		if n, ok := divide(part.Backends).note(&effective.Route{}); ok {
			n.Origin = part.BackendsBy
			out = append(out, n)
		}
	}
	return out
}

// conflict says that a listener of r is left out because of its address.
func conflict(r *effective.Resolved, name, at string) api.Note {
	return api.Note{
		Origin: &api.Origin{Ref: r.Ref}, Severity: api.Error, Code: "Rejected",
		Message: fmt.Sprintf("%s is left out: something else listens at %s; give one of them another address or port", name, at),
	}
}

// noteSet is notes, each once.
type noteSet struct {
	list []api.Note
	seen map[api.Note]bool
}

func (s *noteSet) add(notes ...api.Note) {
	for _, n := range notes {
		if s.seen == nil {
			s.seen = map[api.Note]bool{}
		}
		if !s.seen[n] {
			s.seen[n] = true
			s.list = append(s.list, n)
		}
	}
}
