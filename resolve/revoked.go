package resolve

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
func (c *identityStage) addRevoked() {
	c.revocations = c.below.Policies.Index(func(_ string, p *index.Policy, add func(string)) {
		if o := p.Object; c.below.Kinds[p.Kind].Revokes != nil && o.Name == api.RevocationsName(o.Mesh) && o.Home().System && !o.Shadow() {
			add(index.Any)
		}
	})
}

// revoked is nil where nothing is taken away.
func (m identityMesh) revoked() *revoked {
	var out *revoked
	for p := range m.revocations.Values(m.At, index.Any) {
		names := m.Kinds[p.Kind].Revokes(p.Object.Spec.(*policies.Spec))
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

// has reports whether a name is taken away.
func (r *revoked) has(name string) bool {
	return r != nil && slices.ContainsFunc(r.names, func(n policies.Named) bool {
		return n.Name == name || n.Prefix && spiffe.Begins(name, n.Name)
	})
}

// first is the first of names that is taken away; empty for none.
func (r *revoked) first(names ...string) string {
	if i := slices.IndexFunc(names, r.has); i >= 0 {
		return names[i]
	}
	return ""
}

// Revoked is a name of a dataplane that is taken away, and the document that does so; empty where
// none is, or the dataplane has no identity.
func (m *Model) Revoked(ref api.Ref) (name string, by api.Ref) {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return "", by
	}
	if s := x.securedOf(ref); s != nil && s.revoked != "" {
		return s.revoked, s.revokedBy
	}
	return "", by
}

// Revokes reports whether a name is taken away in a mesh.
func (m *Model) Revokes(mesh, name string) bool {
	x, ok := m.mesh(mesh)
	return ok && x.revoked().has(name)
}

// AnsweredBy are the destinations of a mesh for which dataplanes answer, or would if they were not left
// out, and those of them for which nobody else does, by id and sorted.
func (m *Model) AnsweredBy(mesh string, by func(api.Ref) bool) (all, alone []string) {
	x, ok := m.mesh(mesh)
	if !ok {
		return nil, nil
	}
	for id, behind := range x.members.All(x.At) {
		among, others := 0, 0
		for _, e := range behind.list {
			if e.Dataplane != (api.Ref{}) && by(e.Dataplane) {
				among++
			} else {
				others++
			}
		}
		for _, l := range behind.left {
			among += index.Btoi(by(l.Dataplane))
		}
		if among == 0 {
			continue
		}
		if all = append(all, id); others == 0 {
			alone = append(alone, id)
		}
	}
	slices.Sort(all)
	slices.Sort(alone)
	return all, alone
}

// revokedNotes say of a dataplane whose identity is taken away what that comes to.
func revokedNotes(s *secured, p *index.Dataplane) []api.Note {
	if s == nil || s.revoked == "" {
		return nil
	}
	return []api.Note{api.Notef(p.Origin(), api.Error, api.CodeIdentityRevoked, "",
		"%s is revoked by %s: its calls are refused, nobody is led to it, and it gets no certificate; give it another identity, or take the entry out of that document", s.revoked, s.revokedBy)}
}
