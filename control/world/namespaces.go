package world

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
)

// NamespaceOf is the Namespace of a name, nil where there is none. Kinds of the cluster itself
// lie in the mesh that their label names, else in mesh default: a name alone is no reference.
func NamespaceOf(s *snapshot.Snapshot, name string) *api.Object {
	return In(s, api.Ref{Kind: api.KindNamespace, Name: name})
}

// In is the object of a reference in whatever mesh; nil where there is none.
func In(s *snapshot.Snapshot, ref api.Ref) *api.Object {
	ref.Mesh = api.DefaultMesh
	if o, ok := s.Get(ref); ok {
		return o
	}
	for mesh := range s.OfKind(api.KindMesh) {
		ref.Mesh = mesh.Name
		if o, ok := s.Get(ref); ok {
			return o
		}
	}
	return nil
}
