package resolve

import (
	"cmp"
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// SecretName is the name by which proxies ask for the certificate in a Secret.
func SecretName(r api.Ref) string { return "tls:" + r.Namespace + "/" + r.Name }

// addSecrets derives the certificates that Secrets hold.
func (c *indexStage) addSecrets() {
	secrets := c.otherObjects.Index(func(key string, o *api.Object, add func(string)) {
		if o.Kind == api.KindSecret {
			add(key)
		}
	})
	c.secrets = derive.Derive(c.schema, "certificates", secrets, derive.Values[secretKept]{
		Equal: func(a, b *secretKept) bool { return derive.Same(a.Secret, b.Secret) },
	}, func(r *derive.Reader, key string) *secretKept {
		o, _ := c.otherObjects.Get(r, key)
		cert, fault := o.Spec.(*api.Secret).Certificate()
		if fault != nil {
			return nil
		}
		return &secretKept{Secret: effective.Secret{Name: SecretName(o.Ref), Ref: o.Ref, Certificate: cert}}
	})
}

// Certificates yields those that Secrets of all meshes hold.
func (m *Model) Certificates() iter.Seq[*effective.Secret] {
	return func(yield func(*effective.Secret) bool) {
		for name := range m.Reader(nil).MeshNames() {
			x, ok := m.mesh(name)
			if !ok {
				continue
			}
			for s := range x.secrets.Values(x.at) {
				if !yield(&s.Secret) {
					return
				}
			}
		}
	}
}

// certificate is what a Secret holds; nil where that is none.
func (m indexMesh) certificate(ref api.Ref) *secretKept {
	s, _ := m.secrets.Get(m.at, objectKey(ref))
	return s
}

// secretsOf are those that the listeners of r show, by name. Of a dataplane that shows
// none nothing is looked up.
func (m dataplanesMesh) secretsOf(r *effective.Resolved) []effective.SecretUse {
	var out []effective.SecretUse
	for _, e := range r.Edges {
		for _, c := range r.Chains(e.Edge) {
			for _, ref := range c.Secrets {
				if s := m.certificate(ref); s != nil && !slices.ContainsFunc(out, func(u effective.SecretUse) bool { return u.Secret == &s.Secret }) {
					out = append(out, effective.SecretUse{Secret: &s.Secret, Kept: &s.kept})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b effective.SecretUse) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
