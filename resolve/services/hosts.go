package services

import (
	"iter"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// DestsBelow yields the hosts below that of an entry which is for them too.
func (m Mesh) DestsBelow(e *route.Entry) iter.Seq[*Destination] {
	return func(yield func(*Destination) bool) {
		if !e.Below {
			return
		}
		for d := range m.destsByAbove.Values(m.At, e.To.Name) {
			if matcher.Claims(e.To, &d.Facts) && !yield(d) {
				return
			}
		}
	}
}

// HostsSeen yields the hosts at a port that are seen in a scope.
func (m Mesh) HostsSeen(port uint32, scope string) iter.Seq[*Destination] {
	if scope == index.ScopeAll || scope == index.ScopeCommon {
		return m.DestinationsNamed(index.HostsAt(port, scope))
	}
	return func(yield func(*Destination) bool) {
		for d := range m.DestinationsNamed(index.HostsAt(port, scope)) {
			if !yield(d) {
				return
			}
		}
		for d := range m.DestinationsNamed(index.HostsAt(port, index.ScopeCommon)) {
			if m.Destination(index.InScope(d.ID, scope)) == nil && !yield(d) {
				return
			}
		}
	}
}

// DestinationsMeant yields the destinations that an entry may mean where it acts: of hosts that are owned
// those that namespaces see.
func (m Mesh) DestinationsMeant(r *index.Route, e *route.Entry) iter.Seq[*Destination] {
	if e.To.Kind != api.KindHost || !r.Tenancy.HostsOwned() || r.Object.HomeNamespace() == "" {
		return m.DestinationsOf(e)
	}
	return func(yield func(*Destination) bool) {
		for d := range m.DestinationsOf(e) {
			if _, scope := index.CutScope(d.Key); scope != index.ScopeAll && !yield(d) {
				return
			}
		}
	}
}

// DestinationFor is what a destination that a dataplane calls follows from.
func (m Mesh) DestinationFor(d *effective.Destination, p *index.Dataplane) *Destination {
	if d.Kind == api.KindHost {
		for _, scope := range []string{m.HostScope(p), index.ScopeCommon} {
			if own := m.Destination(index.InScope(d.ID, scope)); own != nil {
				return own
			}
		}
	}
	return m.Destination(d.ID)
}

// SeesName reports whether dataplanes of a namespace call a service by a name, where the service
// has it: as its own, by a grant, or because the name says whose it is.
func (m Mesh) SeesName(viewer string, d *Destination, name string) bool {
	t := m.Tenancy()
	if !t.HostsOwned() || viewer == "" || d.Namespace == "" || d.Namespace == viewer {
		return true
	}
	home := api.Home{Namespace: d.Namespace, System: d.Object != nil && d.Object.Home().System}
	return index.OfNamespace(d.Name, d.Namespace, name) || !t.Owns(home, name)
}

// NameTaken reports whether the mesh names a service so for those who see a host in a scope.
func (m Mesh) NameTaken(scope, name string) bool {
	for d := range m.DestinationsByHostname.Values(m.At, name) {
		if scope == index.ScopeAll || m.SeesName(scope, d, name) {
			return true
		}
	}
	return false
}

// MayServe reports whether an edge dataplane may show all certificates that a host brings.
func (m Mesh) MayServe(p *index.Dataplane, d *Destination) bool {
	if d.TLS == nil {
		return true
	}
	for _, ref := range d.TLS.Secrets {
		if !m.MayShow(p, ref) {
			return false
		}
	}
	return true
}
