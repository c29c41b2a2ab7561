package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/impact"
)

// ReachOf follows policies and routes of one mesh to the dataplanes that they concern, and
// tells for one object after the other about each of those once, in the order of refs. Its
// cost follows what the objects are about: who calls their destinations, or has inbounds
// that they select.
func (q *Reader) ReachOf(mesh string, refs []api.Ref, tell impact.Holder) []*impact.Reach {
	m, ok := q.mesh(mesh)
	if !ok {
		return impact.Unknown(refs)
	}
	return impact.ReachOf(impact.Question{
		Visit: q.visit, Fail: func(p impact.Place) { q.failed = append(q.failed, p) }, All: func() *impact.Places { return q.allPlaces(m, mesh) },
		Dataplanes: q.snapshot.Count(api.KindDataplane, mesh),
	}, m.Mesh.Mesh, refs, tell)
}
