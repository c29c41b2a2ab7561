package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
)

// Revoked is a name of a dataplane that is taken away, and the document that does so; empty where
// none is, or the dataplane has no identity.
func (m *Model) Revoked(ref api.Ref) (name string, by api.Ref) {
	x, ok := m.mesh(ref.Mesh)
	if !ok {
		return "", by
	}
	if s := x.TLSOf(ref); s != nil && s.Revoked != "" {
		return s.Revoked, s.RevokedBy
	}
	return "", by
}

// Revokes reports whether a name is taken away in a mesh.
func (m *Model) Revokes(mesh, name string) bool {
	x, ok := m.mesh(mesh)
	return ok && x.Revoked().Has(name)
}

// AnsweredBy are the destinations of a mesh for which dataplanes answer, or would if they were not left
// out, and those of them for which nobody else does, by id and sorted.
func (m *Model) AnsweredBy(mesh string, by func(api.Ref) bool) (all, alone []string) {
	x, ok := m.mesh(mesh)
	if !ok {
		return nil, nil
	}
	for id, behind := range x.Members.All(x.At) {
		among, others := 0, 0
		for _, e := range behind.List {
			if e.Dataplane != (api.Ref{}) && by(e.Dataplane) {
				among++
			} else {
				others++
			}
		}
		for _, l := range behind.Left {
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
