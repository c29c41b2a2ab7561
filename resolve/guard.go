package resolve

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
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
