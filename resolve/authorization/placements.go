package authorization

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/resolve/index"
)

// PlacementsOf yields the inbounds to which rules lead that a policy on routes is attached to, and at
// which it has a say; one may come twice.
func (m Mesh) PlacementsOf(p *index.Policy) iter.Seq[InboundPlacement] {
	return func(yield func(InboundPlacement) bool) {
		for id := range m.FrontendsOf(p) {
			places, _ := m.Placements.Get(m.At, id)
			if places == nil {
				continue
			}
			for _, x := range places.List {
				if plane := index.Need(m.Dataplanes, m.At, x.Plane); plane != nil && p.AuthorizesAt(plane) && !yield(x) {
					return
				}
			}
		}
	}
}

// FrontendsOf yields the destinations among whose rules are some that a policy on routes is
// attached to.
func (m Mesh) FrontendsOf(p *index.Policy) iter.Seq2[string, *DestinationRules] {
	return func(yield func(string, *DestinationRules) bool) {
		seen := map[string]bool{}
		on, _ := m.PolicyRoutes.Get(m.At, index.ObjectKey(p.Object.Ref))
		if on == nil {
			return
		}
		for _, key := range on.Routes {
			j, _ := m.RoutePolicies.Get(m.At, key)
			if j == nil {
				continue
			}
			for _, id := range j.Dests {
				f, _ := m.Frontends.Get(m.At, id)
				if f == nil || seen[id] {
					continue
				}
				seen[id] = true
				if slices.ContainsFunc(f.Rows, func(r *Row) bool { return r.By(p) }) && !yield(id, f) {
					return
				}
			}
		}
	}
}

// AuthorizesDataplane reports whether a policy on routes has to do with a dataplane.
func (m Mesh) AuthorizesDataplane(p *index.Policy, key string) bool {
	for x := range m.PlacementsOf(p) {
		if x.Plane == key {
			return true
		}
	}
	return false
}

// HasSay reports whether a policy on routes has a say at some of the inbounds that its rules lead
// to, and names a dataplane among those at which it has none.
func (m Mesh) HasSay(p *index.Policy, places *InboundPlacements) (asked bool, foreign string) {
	if places == nil {
		return false, ""
	}
	for _, x := range places.Foreign {
		if x.Policy == p {
			foreign = x.Plane.String()
		}
	}
	return slices.ContainsFunc(places.List, func(at InboundPlacement) bool {
		plane := index.Need(m.Dataplanes, m.At, at.Plane)
		return plane != nil && p.AuthorizesAt(plane)
	}), foreign
}

// IsFrontend reports whether the rules of a destination say at a place what w does.
func (m Mesh) IsFrontend(id string, w *ArrivingRules, at InboundPlacement) bool {
	places, _ := m.Placements.Get(m.At, id)
	if places == nil {
		return false
	}
	own := places.Path(at)
	return own != nil && own.Alike(w)
}
