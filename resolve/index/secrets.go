package index

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// CachedSecret is a certificate of a Secret, with what is made of it.
type CachedSecret struct {
	effective.Secret
	Cache effective.Derived
}

// SecretName is the name by which proxies ask for the certificate in a Secret.
func SecretName(r api.Ref) string { return "tls:" + r.Namespace + "/" + r.Name }

// addSecrets derives the certificates that Secrets hold.
func (c *Stage) addSecrets() {
	secrets := c.OtherObjects.Index(func(key string, o *api.Object, add func(string)) {
		if o.Kind == api.KindSecret {
			add(key)
		}
	})
	c.Secrets = derive.Derive(c.Schema, "certificates", secrets, derive.Values[CachedSecret]{
		Equal: func(a, b *CachedSecret) bool { return derive.Same(a.Secret, b.Secret) },
	}, func(r *derive.Reader, key string) *CachedSecret {
		o, _ := c.OtherObjects.Get(r, key)
		cert, fault := o.Spec.(*api.Secret).Certificate()
		if fault != nil {
			return nil
		}
		return &CachedSecret{Secret: effective.Secret{Name: SecretName(o.Ref), Ref: o.Ref, Certificate: cert}}
	})
}

// Certificate is what a Secret holds; nil where that is none.
func (m Mesh) Certificate(ref api.Ref) *CachedSecret {
	s, _ := m.Secrets.Get(m.At, ObjectKey(ref))
	return s
}

// Claim is a tag or label by which a dataplane answers for something, and which nobody has proved.
type Claim struct{ Word, Key, Value string }

// The words of claims, which are those of the command that issues tokens too.
const (
	TagClaim   = "tag"
	LabelClaim = "label"
)

// String is the claim in words: what it is, key and value.
func (c Claim) String() string { return c.Word + " " + c.Key + ": " + c.Value }

func sortedNames(all map[string]string) []string {
	out := make([]string, 0, len(all))
	for k := range all {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
