package conditions

import (
	"crypto/x509"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// fallbackNotes say of a MeshIdentity that nobody has said whether plain text is cut off.
func fallbackNotes(x Mesh, o *api.Object) []api.Note {
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

// identityNotes say why a dataplane gets no certificate.
func identityNotes(x Mesh, p *index.Dataplane) []api.Note {
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

// revokedNotes say of a dataplane whose identity is taken away what that comes to.
func revokedNotes(s *identity.DataplaneTLS, p *index.Dataplane) []api.Note {
	if s == nil || s.Revoked == "" {
		return nil
	}
	return []api.Note{api.Notef(p.Origin(), api.Error, api.CodeIdentityRevoked, "",
		"%s is revoked by %s: its calls are refused, nobody is led to it, and it gets no certificate; give it another identity, or take the entry out of that document", s.Revoked, s.RevokedBy)}
}

// trustNotes say of a MeshTrust that others speak for its domain too, by other roots: each of them
// can sign every name of the domain.
func trustNotes(x Mesh, o *api.Object, spec *api.MeshTrust) []api.Note {
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
