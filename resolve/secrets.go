package resolve

import (
	"cmp"
	"iter"
	"slices"

	"github.com/weftmesh/weft/resolve/effective"
)

// Certificates yields those that Secrets of all meshes hold.
func (m *Model) Certificates() iter.Seq[*effective.Secret] {
	return func(yield func(*effective.Secret) bool) {
		for name := range m.Reader(nil).MeshNames() {
			x, ok := m.mesh(name)
			if !ok {
				continue
			}
			for s := range x.Secrets.Values(x.At) {
				if !yield(&s.Secret) {
					return
				}
			}
		}
	}
}

// secretsOf are those that the listeners of r show, by name. Of a dataplane that shows
// none nothing is looked up.
func (m dataplanesMesh) secretsOf(r *effective.Resolved) []effective.SecretUse {
	var out []effective.SecretUse
	for _, e := range r.Edges {
		for _, c := range r.Chains(e.Edge) {
			for _, ref := range c.Secrets {
				if s := m.Certificate(ref); s != nil && !slices.ContainsFunc(out, func(u effective.SecretUse) bool { return u.Secret == &s.Secret }) {
					out = append(out, effective.SecretUse{Secret: &s.Secret, Kept: &s.Cache})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b effective.SecretUse) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
