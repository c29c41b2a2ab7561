package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// The modes in which inbounds take mutual TLS.
const ()

// fallbackNotes say of a MeshIdentity that nobody has said whether plain text is cut off.
func fallbackNotes(x mesh, o *api.Object) []api.Note {
	g := x.Issuers()
	if g == nil || g.Authority != nil || x.TlsKind < 0 {
		return nil
	}
	for p := range x.PoliciesByKind.Values(x.At, x.Kinds[x.TlsKind].Name) {
		if p.Object.Spec.(*policies.Spec).Top().Kind == api.KindMesh && p.Section == "" && slices.ContainsFunc(p.Inbound, func(it *index.Item) bool {
			e := x.Folded([]*index.Item{it})
			return e != nil && e.Conf.(identity.TLSConf).InboundMode() != ""
		}) {
			return nil
		}
	}
	return []api.Note{api.Notef(&api.Origin{Ref: o.Ref}, api.Warning, api.CodePermissiveByDefault, "",
		"no mtls of the Mesh and no MeshTLS for the whole mesh says in which mode inbounds take mutual TLS, so those of whom no other MeshTLS says it are Permissive and take plain text too; apply a MeshTLS of mode Permissive to say so, or of mode Strict once nobody calls in plain text")}
}

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

// identityNotes say why a dataplane gets no certificate.
func identityNotes(x mesh, p *index.Dataplane) []api.Note {
	s := x.TLSOf(p.Object.Ref)
	if notes := revokedNotes(s, p); notes != nil {
		return notes
	}
	id := s.GetIdentity()
	why, ok := x.WithoutCertificate(p.Object.Ref, id)
	switch skew := x.InsightOf(p.Object.Ref).Skew; {
	case !ok && id != nil && skew != 0:
		which := "ahead of"
		if skew < 0 {
			which = "behind"
		}
		return []api.Note{api.Notef(p.Origin(), api.Warning, api.CodeClockSkew, "", "the clock of its host was %s %s that of the control plane when its sidecar started, so that certificates may not be valid there; set both by one source of time", skew.Abs(), which)}
	case !ok:
		return nil
	case why.Code == api.CodeSpiffeIDInvalid:
		return []api.Note{api.Notef(p.Origin(), api.Error, why.Code, "", "by %s it has no name, so it gets no certificate: %s", id.Origin.Ref, why.Message)}
	}
	return []api.Note{api.Notef(p.Origin(), api.Error, why.Code, "", "it gets no certificate: %s", why.Message)}
}
