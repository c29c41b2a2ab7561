package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// Route is a route object as its dialect reads it.
func (m *Model) Route(ref api.Ref) (*route.Object, bool) {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil, false
	}
	o, ok := x.objects.Get([]byte(objectKey(ref)))
	if !ok {
		return nil, false
	}
	r, ok := o.(*routeObject)
	if !ok {
		return nil, false
	}
	return r.parsed, true
}
