package snapshot

import (
	"slices"

	"github.com/weftmesh/weft/api"
)

// MeshSecretIn is the value of a Secret of a mesh, which in a cluster lies in one of the system
// namespaces; not ok where there is none, or another hides its material.
func MeshSecretIn(s *Snapshot, mesh, name string, namespaces []string) (value []byte, ok bool) {
	ref, ok := MeshSecretRef(s, mesh, name, namespaces)
	if !ok {
		return nil, false
	}
	o, _ := s.Get(ref)
	return o.Spec.(*api.Secret).Data[api.MeshSecretValue].Bytes()
}

// MeshSecretRef is where the Secret lies that MeshSecretIn reads; not ok where there is none.
func MeshSecretRef(s *Snapshot, mesh, name string, namespaces []string) (api.Ref, bool) {
	for _, namespace := range slices.Concat([]string{""}, namespaces) {
		o, found := s.Get(api.Ref{Kind: api.KindSecret, Mesh: mesh, Namespace: namespace, Name: name})
		if !found {
			continue
		}
		if spec, _ := o.Spec.(*api.Secret); spec != nil && spec.OfMesh() != nil {
			return o.Ref, true
		}
	}
	return api.Ref{}, false
}
