package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
	"github.com/weftmesh/weft/route"
)

// Owners are the routes of other kinds that own everything that an entry of a route is
// about, each once; none where something of it is the route's own.
func (q *Reader) Owners(ref api.Ref, e *route.Entry) []*api.Origin {
	x, ok := q.mesh(ref.Mesh)
	if !ok || x.Route(ref) == nil {
		return nil
	}
	owners, kept := conditions.OwnersOf(x.Mesh, x.Route(ref), e)
	if kept {
		return nil
	}
	var out []*api.Origin
	for _, by := range owners {
		if o := (&api.Origin{Ref: by.Object.Ref}); !slices.ContainsFunc(out, o.Same) {
			out = append(out, o)
		}
	}
	return out
}
