package snapshot

import "github.com/weftmesh/weft/api"

// TrustOf is the MeshTrust that has the name of the one which is made of the authority of a Mesh or
// of a MeshIdentity; nil for none.
func TrustOf(s *Snapshot, owner *api.Object) *api.Object {
	mesh := owner.Mesh
	if owner.Kind == api.KindMesh {
		mesh = owner.Name
	}
	for o := range s.Of(api.KindMeshTrust, mesh) {
		if o.Name == api.TrustName(owner.Ref) {
			return o
		}
	}
	return nil
}

// MadeOf is the object of whose authority weft has made a MeshTrust; nil where somebody wrote it.
func MadeOf(s *Snapshot, trust *api.Object) *api.Object {
	if trust.Kind != api.KindMeshTrust || !api.MadeByWeft(trust) {
		return nil
	}
	if o, ok := s.Get(api.Ref{Kind: api.KindMesh, Name: trust.Mesh}); ok && trust.Name == api.TrustName(o.Ref) {
		return o
	}
	for o := range s.Of(api.KindMeshIdentity, trust.Mesh) {
		if o.Name == trust.Name {
			return o
		}
	}
	return nil
}
