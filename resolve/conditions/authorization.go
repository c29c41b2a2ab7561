package conditions

import (
	"crypto/x509"
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/authorization"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// RouteAuthorizationNotes say why a policy on routes is not carried out as it is written.
func RouteAuthorizationNotes(x Mesh, p *index.Policy) []api.Note {
	if !x.AuthorizesRoutes(p) {
		return nil
	}
	origin, at := &api.Origin{Ref: p.Object.Ref}, api.Path("spec.targetRef")
	var notes []api.Note
	some, said := false, map[string]bool{}
	add := func(severity api.Severity, code, format string, args ...any) {
		n := api.Notef(origin, severity, code, at, format, args...)
		if !said[n.Code+n.Message] {
			said[n.Code+n.Message] = true
			notes = append(notes, n)
		}
	}
	for id, f := range x.FrontendsOf(p) {
		places, _ := x.Placements.Get(x.At, id)
		asked, foreign := x.HasSay(p, places)
		some = some || asked
		for _, row := range f.Rows {
			switch {
			case !row.By(p) || row.Closed == "":
			case asked || foreign == "":
				add(api.Error, "UnsupportedValue", "%s; until then nobody gets in who asks for what its rules take", row.Closed)
			default:
				add(api.Error, "UnsupportedValue", "%s; nothing asks who calls", row.Closed)
			}
		}
		if foreign != "" {
			add(map[bool]api.Severity{true: api.Warning, false: api.Error}[asked], api.CodeNoEffect,
				"its rules lead to workloads of another namespace, such as %s, about which a permission of namespace %s has no say; write one in theirs, or in a namespace of the mesh's operators", foreign, p.Object.HomeNamespace())
		}
		for _, o := range places.Overlaps(p) {
			add(api.Warning, "OverlappingRules", "%s", o)
		}
		if where, with := x.conflictOf(p, id, places); where != "" {
			add(api.Error, api.CodeConflicted, "%s goes by the permissions on the rules of %s, and can go by those of one alone, so what the rules of %s take is denied there; attach both to one route, or give each workloads of its own", where, with, id)
		}
	}
	if some && x.tellsPathsApart(p) && !p.Object.Shadow() {
		add(api.Warning, "EscapedSlashRefused", "its rules are told apart by paths, so that requests with %%2F or %%5C in their path are refused with 400, and // becomes /, at every inbound that they lead to, whoever calls and whatever the path; attach it to rules that take methods or headers alone to keep them")
	}
	if !some && len(notes) == 0 {
		if on, _ := x.PolicyRoutes.Get(x.At, index.ObjectKey(p.Object.Ref)); on != nil && len(on.Routes) > 0 {
			notes = append(notes, api.Notef(origin, api.Warning, api.CodeNoEffect, at, "none of the rules that it is attached to leads to a workload of the mesh, so nothing asks who calls"))
		}
	}
	return notes
}

// tellsPathsApart reports whether paths decide, where the policy has a say, whose rule holds.
func (m Mesh) tellsPathsApart(p *index.Policy) bool {
	for x := range m.PlacementsOf(p) {
		in, _ := m.Inbounds.Get(m.At, x.Plane)
		if in != nil && slices.ContainsFunc(in.List, func(i effective.InboundUse) bool {
			return index.JoinedAddress(i.Address, i.Port) == x.At && i.AsDocumented().TellsPathsApart()
		}) {
			return true
		}
	}
	return false
}

// conflictOf is the first dataplane at which others stand in the place of a frontend, and the
// other frontend.
func (m Mesh) conflictOf(p *index.Policy, id string, places *authorization.InboundPlacements) (where, with string) {
	if places == nil {
		return "", ""
	}
	for _, place := range places.List {
		all := m.FrontendsTo(place.Plane)
		if len(all) < 2 {
			continue
		}
		first, others := m.FrontendsAt(all, place)
		if !slices.ContainsFunc(others, func(w *authorization.ArrivingRules) bool {
			return slices.ContainsFunc(w.Rows, func(r *authorization.Row) bool { return r.By(p) }) && m.IsFrontend(id, w, place)
		}) {
			continue
		}
		for _, other := range all {
			if m.IsFrontend(other, first, place) {
				with = other
				break
			}
		}
		d := index.Need(m.Dataplanes, m.At, place.Plane)
		return fmt.Sprintf("inbound %s of %s", portOfPlace(place.At), d.Object.Ref), with
	}
	return "", ""
}

// portOfPlace is the port of a place.
func portOfPlace(at string) string {
	_, port, _ := tuple.CutLast(at)
	return port
}

// fallbackNotes say of a MeshIdentity that nobody has said whether plain text is cut off.
func fallbackNotes(x Mesh, o *api.Object) []api.Note {
	g := x.Issuers()
	if g == nil || g.Authority != nil || x.TLSKind < 0 {
		return nil
	}
	for p := range x.PoliciesByKind.Values(x.At, x.Kinds[x.TLSKind].Name) {
		if p.Object.Spec.(*policies.Spec).Top().Kind == api.KindMesh && p.Section == "" && slices.ContainsFunc(p.Inbound, func(it *index.Item) bool {
			e := x.Folded([]*index.Item{it})
			return e != nil && e.Kind.TransportSecurity.InboundMode(e.Conf) != ""
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

// callersNotes say why an item is about nobody, or about fewer than it says.
func callersNotes(x Mesh, it *index.Item) []api.Note {
	var out []api.Note
	add := func(at api.Path, text string) {
		out = append(out, api.Notef(it.Origin, api.Error, "UnsupportedValue", at, "%s", text))
	}
	at := it.Field.Field("matches")
	if len(it.Matches) > 0 && !x.HasIdentities() {
		add(at, "callers are told apart by mutual TLS, which the mesh does not have, so the rule is not applied; leave out matches to apply it to every caller")
		return out
	}
	if it.OfSomeCallers() && x.Kinds[it.Policy.Kind].Authorizer == nil && !x.HasIdentities() {
		out = append(out, api.Notef(it.Origin, api.Warning, api.CodeNoEffect, it.Field.Field("targetRef"),
			"callers are told apart by mutual TLS, which the mesh does not have, so the item is not applied; write kind: Mesh to apply it to every caller"))
		return out
	}
	for i, m := range it.Matches {
		if m.SNI != nil {
			add(at.Index(i).Field("sni"), "what the rule says stands at routes, and Envoy chooses no route by the name that callers ask for in TLS, so the match is not applied; match their spiffeID alone")
		}
	}
	return out
}

// mostKept is how many hosts with a certificate that it does not show an edge dataplane is told of.
const mostKept = 20

// keptCertificates are the notes on hosts that an edge dataplane would serve by their own
// certificates, which are of other namespaces.
func keptCertificates(x Mesh, p *index.Dataplane) []api.Note {
	var notes []api.Note
	list, home, origin := x.Listening(p), p.Facts.Namespace, p.Origin()
	for i := range list {
		l := &list[i]
		if l.TLS == nil || l.Connections {
			continue
		}
		x.EdgeTLSCalls(list, l, x.HostScope(p), func(d *services.Destination) {
			if x.MayServe(p, d) || len(notes) >= mostKept {
				return
			}
			i := slices.IndexFunc(d.TLS.Secrets, func(ref api.Ref) bool { return !x.MayShow(p, ref) })
			ref := d.TLS.Secrets[i]
			n := api.Notef(origin, api.Warning, index.CodeCertificateKept, "", "%s is not served here: its certificate is Secret %s of namespace %s, and edge dataplanes of namespace %s have no keys of others; add %s to tenancy.edges of Mesh %s if they may, or run the edge in namespace %s or a system namespace",
				d.Name, ref.Name, ref.Namespace, home, home, p.Object.Mesh, ref.Namespace)
			if !slices.Contains(notes, n) {
				notes = append(notes, n)
			}
		})
	}
	return notes
}

// listenerNotes are those on the listeners that an edge dataplane names itself.
func listenerNotes(x Mesh, p *index.Dataplane) []api.Note {
	net := p.Spec.Networking
	if !net.Edge() {
		return nil
	}
	notes := append(noListeners(x, p), keptCertificates(x, p)...)
	for i := range net.Gateway.Listeners {
		l := &net.Gateway.Listeners[i]
		if l.TLS == nil || x.Certificate(p.Secret(l)) != nil {
			continue
		}
		at := api.Path("networking.gateway.listeners").Index(i).Field("tls").Field("secret")
		ref := p.Secret(l)
		o, _ := x.OtherObjects.Get(x.At, index.ObjectKey(ref))
		why := api.CertificateProblem(ref, o, x.Zone)
		notes = append(notes, api.Notef(&api.Origin{Ref: p.Object.Ref, Field: at}, api.Error, "InvalidCertificateRef", at, "%s; until then nobody is let in at port %d for these hosts", why, l.Port))
	}
	return notes
}
