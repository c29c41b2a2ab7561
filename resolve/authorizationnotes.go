package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/conditions"
)

// Uncarried are the notes on a policy about who may call for which it should not have been written:
// on routes it is carried out in no way but that nobody gets in (spec/identity.md 4.5), or it is to
// deny what no request is.
func (q *Reader) Uncarried(ref api.Ref) []api.Note {
	x, ok := q.mesh(meshOf(ref))
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	return slices.DeleteFunc(append(conditions.RouteAuthorizationNotes(x.Mesh, p), conditions.VoidNotes(x.Mesh, p)...), func(n api.Note) bool { return n.Severity != api.Error })
}
