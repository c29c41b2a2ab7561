package resolve

import "github.com/weftmesh/weft/api"

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects. It is UseOf without asking where the object takes part.
func (m *Model) Selected(ref api.Ref) []api.Ref {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil
	}
	o, ok := x.objects.Get([]byte(objectKey(ref)))
	if !ok {
		return nil
	}
	var out []api.Ref
	for _, p := range collect(x.planes.Root().Iterator()) {
		if selected(x, o, p.plane) {
			out = append(out, p.resolved.Ref)
		}
	}
	return out
}
