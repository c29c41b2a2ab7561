package identity

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/index"
)

// revoked are the identities that the document of revocations of a mesh takes away: nobody takes calls
// of them, which is the permission's own to say, and nobody calls them.
type revoked struct {
	by    api.Ref
	names []policies.Named
}

// addRevoked finds the documents of revocations. A mesh has few, and most have none.
func (c *Stage) addRevoked() {
	c.revocations = c.below.Policies.Index(func(_ string, p *index.Policy, add func(string)) {
		if o := p.Object; c.below.Kinds[p.Kind].Authorizer != nil && o.Name == api.RevocationsName(o.Mesh) && o.Home().System && !o.Shadow() {
			add(index.Any)
		}
	})
}

// Revoked is nil where nothing is taken away.
func (m Mesh) Revoked() *revoked {
	var out *revoked
	for p := range m.revocations.Values(m.At, index.Any) {
		names := m.Kinds[p.Kind].Authorizer.Revoked(p.Object.Spec.(*policies.Spec))
		if len(names) == 0 {
			continue
		}
		if out == nil {
			out = &revoked{by: p.Object.Ref}
		}
		out.names = append(out.names, names...)
	}
	return out
}

// Has reports whether a name is taken away.
func (r *revoked) Has(name string) bool {
	return r != nil && slices.ContainsFunc(r.names, func(n policies.Named) bool {
		return n.Name == name || n.Prefix && spiffe.Begins(name, n.Name)
	})
}

// first is the first of names that is taken away; empty for none.
func (r *revoked) first(names ...string) string {
	if i := slices.IndexFunc(names, r.Has); i >= 0 {
		return names[i]
	}
	return ""
}
