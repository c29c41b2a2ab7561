package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// The modes in which inbounds take mutual TLS.
const ()

// Identity is who a dataplane is; nil for one that has no identity, and not ok where there is
// no such dataplane. It costs nothing beside what Dataplane does.
func (m *Model) Identity(ref api.Ref) (*effective.Identity, bool) {
	r, ok := m.Dataplane(ref)
	if !ok {
		return nil, false
	}
	return r.Identity, true
}

// Identities reports whether a mesh says anything of identities.
func (q *Reader) Identities(name string) bool {
	x, ok := q.mesh(name)
	return ok && x.HasIdentities()
}

// Leaves reports whether dataplanes of a mesh go on with an identity of before.
func (m *Model) Leaves(name string) bool {
	x, ok := m.mesh(name)
	if !ok {
		return false
	}
	g := x.Issuers()
	return g != nil && g.Former.Any()
}

// Uncertified tells why a dataplane of a mesh gets no certificate; not ok for one that has no
// identity, and where nothing is known to keep it from one.
func (q *Reader) Uncertified(mesh string) func(api.Ref) (why api.IdentityRefusal, ok bool) {
	x, there := q.mesh(mesh)
	return func(ref api.Ref) (why api.IdentityRefusal, ok bool) {
		if !there {
			return why, false
		}
		return x.WithoutCertificate(ref, x.TLSOf(ref).GetIdentity())
	}
}

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

// Tenancy is what a mesh says of its tenants; nil where it says nothing.
func (m *Model) Tenancy(name string) *api.Tenancy {
	if x, ok := m.mesh(name); ok {
		return x.Tenancy()
	}
	return nil
}

// Serves reports whether a route object is served by its ingress class: where it is not, it is
// another controller's, and so is its status.
func (m *Model) Serves(o *api.Object) bool {
	d, _ := index.KindOf(m.all.Dialects, o.Kind)
	return d == nil || m.Tenancy(o.Mesh).ServesClass(index.ClassOf(d, o))
}

// Excluded says why a document takes no part in its mesh by Mesh.tenancy; not ok where it does.
func (q *Reader) Excluded(o *api.Object) (api.Note, bool) {
	x, ok := q.mesh(o.Mesh)
	if !ok {
		return api.Note{}, false
	}
	n := x.Excluded(o)
	if n == nil {
		return api.Note{}, false
	}
	return *n, true
}

// Who answers for a service is whom its selector finds by tags, labels or name. A sidecar that brings
// its Dataplane along writes these itself: where inbounds take mutual TLS alone it answers only for what
// its token binds, else it would take the requests that others are sent, with all that callers put into
// them, by a certificate that proves another name (spec/identity.md 2.5).

// LeftOut are the dataplanes of a mesh to which nobody is led by a destination for which they say that
// they answer, with the ids of these destinations.
func (m *Model) LeftOut(mesh string) map[api.Ref][]string {
	x, ok := m.mesh(mesh)
	if !ok {
		return nil
	}
	out := map[api.Ref][]string{}
	for id, behind := range x.Members.All(x.At) {
		for _, l := range behind.Left {
			out[l.Dataplane] = append(out[l.Dataplane], id)
		}
	}
	return out
}
