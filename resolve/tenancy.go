package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// Tenancy is what a mesh says of its tenants; nil where it says nothing.
func (m *Model) Tenancy(name string) *api.Tenancy {
	if x, ok := m.mesh(name); ok {
		return x.Tenancy()
	}
	return nil
}

// Serves reports whether a route object is served by its ingress class: where it is not, it is
// another controller's, and so is its status.
func (m *Model) Serves(o *api.Object) bool {
	d, _ := index.KindOf(m.all.Dialects, o.Kind)
	return d == nil || m.Tenancy(o.Mesh).ServesClass(index.ClassOf(d, o))
}

// KeptOut says why a document takes no part in its mesh by Mesh.tenancy; not ok where it does.
func (q *Reader) KeptOut(o *api.Object) (api.Note, bool) {
	x, ok := q.mesh(o.Mesh)
	if !ok {
		return api.Note{}, false
	}
	n := x.KeptOut(o)
	if n == nil {
		return api.Note{}, false
	}
	return *n, true
}
