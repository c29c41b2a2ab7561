package pods

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
)

// addMeshes derives in which mesh Services and EndpointSlices are: the one that their
// label names, else that of their namespace, else the default one (spec/kubernetes.md 3.1).
func (s *Stage) addMeshes() {
	s.placed = derive.Derive(s.schema, "services placed", s.services, derive.Values[api.Object]{}, func(r *derive.Reader, key string) *api.Object {
		o, _ := s.services.Get(r, key)
		return s.moved(r, s.services, o, s.meshOfSpace(r, o))
	})
	s.placedSlices = derive.Derive(s.schema, "slices placed", s.slices, derive.Values[api.Object]{}, func(r *derive.Reader, key string) *api.Object {
		o, _ := s.slices.Get(r, key)
		service := api.Ref{Kind: api.KindService, Mesh: o.Mesh, Namespace: o.Namespace, Name: o.Labels[api.LabelServiceName]}
		if of, _ := s.placed.Get(r, service.String()); of != nil {
			return s.moved(r, s.slices, o, of.Mesh)
		}
		return s.moved(r, s.slices, o, s.meshOfSpace(r, o))
	})
}

// meshOfSpace is the mesh that the namespace of an object is in, empty where nobody says.
func (s *Stage) meshOfSpace(r *derive.Reader, o *api.Object) string {
	if ns, _ := s.spaces.Get(r, inSpace("", o.Namespace)); ns != nil {
		return ns.Labels[api.LabelMesh]
	}
	return ""
}

// moved is an object in a mesh, unless it says itself where it is, or its place there is taken.
func (s *Stage) moved(r *derive.Reader, among *derive.Collection[api.Object], o *api.Object, mesh string) *api.Object {
	if mesh == "" || mesh == o.Mesh || o.Labels[api.LabelMesh] != "" || o.Mesh != api.DefaultMesh {
		return o
	}
	there := o.Ref
	there.Mesh = mesh
	if taken, _ := among.Get(r, there.String()); taken != nil {
		return o
	}
	c, from := *o, o.Ref
	c.Ref, c.From = there, &from
	return &c
}
