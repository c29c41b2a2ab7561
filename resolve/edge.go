package resolve

import (
	"github.com/weftmesh/weft/api"
)

// EdgesOf are the edge dataplanes of which a route object says where they listen, by ref.
func (q *Reader) EdgesOf(ref api.Ref) []*api.Object {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var out []*api.Object
	if r := x.Route(ref); r != nil {
		for p := range x.EdgesNamed(r.Parsed.Edges) {
			out = append(out, p.Object)
		}
	}
	return out
}
