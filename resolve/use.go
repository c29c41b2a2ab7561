package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects, whatever they call, sorted.
func (q *Reader) Selected(ref api.Ref) []api.Ref {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var refs []api.Ref // some twice
	if p := x.Policy(ref); p != nil && x.AuthorizesRoutes(p) {
		for at := range x.PlacementsOf(p) {
			refs = append(refs, index.Need(x.Dataplanes, x.At, at.Plane).Object.Ref)
		}
	} else {
		for _, s := range x.SelectorsOf(ref) {
			for p := range x.Selecting(s) {
				refs = append(refs, p.Object.Ref)
			}
		}
	}
	if !slices.IsSortedFunc(refs, api.Ref.Compare) {
		slices.SortFunc(refs, api.Ref.Compare)
	}
	return slices.Compact(refs)
}

// SelectsAny reports whether the top-level targetRef of a policy or route selects
// a dataplane.
func (q *Reader) SelectsAny(ref api.Ref) bool {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return false
	}
	if p := x.Policy(ref); p != nil && x.AuthorizesRoutes(p) {
		for range x.PlacementsOf(p) {
			return true
		}
		return false
	}
	return x.Selects(x.SelectorsOf(ref)...)
}

// RoutesOf are the routes that a policy's top-level targetRef, or else its items,
// name; each once.
func (q *Reader) RoutesOf(ref api.Ref) []*route.Opinion {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	var out []*route.Opinion
	for _, it := range slices.Concat(p.Items, p.Inbound) {
		if at := it.RouteRef(); at != nil {
			for r := range x.SelectedRoutes(at, p.Object.Home()) {
				if !slices.Contains(out, r.Parsed) {
					out = append(out, r.Parsed)
				}
			}
		}
	}
	return out
}
