package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// See shows the documents of a mesh as they are now.
func (q *Reader) See(name string) route.See {
	x, ok := q.mesh(name)
	if !ok {
		return nothing{}
	}
	return index.Lister{Mesh: x.Index()}
}

// nothing is a mesh without documents.
type nothing struct{}

func (nothing) Zone() api.Zone                                  { return api.Zone{} }
func (nothing) Object(api.Ref) (*api.Object, bool)              { return nil, false }
func (nothing) Objects(string, map[string]string) []*api.Object { return nil }
func (nothing) Keyed(string, string) []*api.Object              { return nil }
func (nothing) Shares(*api.Object, string) bool                 { return true }
