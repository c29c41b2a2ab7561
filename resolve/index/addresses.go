package index

import (
	"iter"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// addressID is the id of the addresses of a name. It depends on nothing but them, so that
// all routes that name the same have one destination and one cluster.
func addressID(name string) string { return "address_" + name }

// addressesOf yields the refs of a route object to addresses.
func addressesOf(r *Route) iter.Seq[*route.BackendRef] {
	return func(yield func(*route.BackendRef) bool) {
		if r.Object.Shadow() {
			return
		}
		for i := range r.Parsed.Entries {
			for j := range r.Parsed.Entries[i].Rules {
				rule := &r.Parsed.Entries[i].Rules[j]
				for _, refs := range [][]route.BackendRef{rule.Backends, rule.Mirrors} {
					for k := range refs {
						if ref := &refs[k]; ref.Outside != nil && !yield(ref) {
							return
						}
					}
				}
			}
		}
	}
}

// AddressOf is the addresses that have the id, if a route names them.
func (m Mesh) AddressOf(id string) *effective.Destination {
	for _, r := range m.RoutesByAddress.In(m.At, id) {
		for ref := range addressesOf(r) {
			if addressID(ref.Target.Name) == id {
				return addressDestination(ref)
			}
		}
	}
	return nil
}

func addressDestination(ref *route.BackendRef) *effective.Destination {
	as := &api.MeshExternalService{}
	if ref.Outside.TLS {
		as.TLS = &api.ExternalTLS{Enabled: true}
	}
	for _, a := range ref.Outside.Addresses {
		as.Endpoints = append(as.Endpoints, api.ExternalEndpoint{Address: a.Host, Port: a.Port})
	}
	return &effective.Destination{ID: addressID(ref.Target.Name), Kind: api.KindAddress, Name: ref.Target.Name, Protocol: api.HTTP, External: as}
}
