package resolve

import (
	"crypto/x509"
	"slices"

	"github.com/weftmesh/weft/api"
)

// trustNotes say of a MeshTrust that others speak for its domain too, by other roots: each of them
// can sign every name of the domain.
func trustNotes(x mesh, o *api.Object, spec *api.MeshTrust) []api.Note {
	own := map[string]bool{}
	for _, root := range spec.Roots() {
		own[string(root.Raw)] = true
	}
	for other := range x.Objects(api.KindMeshTrust, nil) {
		t, ok := other.Spec.(*api.MeshTrust)
		if !ok || other.Ref == o.Ref || t.TrustDomain != spec.TrustDomain {
			continue
		}
		if slices.ContainsFunc(t.Roots(), func(c *x509.Certificate) bool { return !own[string(c.Raw)] }) {
			return []api.Note{api.Notef(&api.Origin{Ref: o.Ref}, api.Warning, api.CodeDomainShared, "spec.trustDomain",
				"%s has other roots for the trust domain %s, and every one of them may sign any name in it; give each authority a domain of its own, unless one is about to replace the other", other.Ref, spec.TrustDomain)}
		}
	}
	return nil
}
