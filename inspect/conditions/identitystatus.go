package conditions

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/resolve"
)

// The conditions of documents about identities (spec/identity.md 1.2) beside Accepted, and reasons
// of them.
const (
	conditionReady    = "Ready"
	conditionProvider = "Provider"
	conditionTrust    = "MeshTrustCreated"
	conditionNames    = "SpiffeIDProvider"

	reasonReady   = "Ready"
	reasonPartial = "PartiallyReady"
)

// mostTold is how many dataplanes a condition names.
const mostTold = 5

// TellsIdentity reports whether an object has the conditions of documents about identities.
func TellsIdentity(o *api.Object) bool {
	switch spec := o.Spec.(type) {
	case *api.MeshIdentity, *api.MeshTrust:
		return true
	case *api.Mesh:
		return spec.MTLS != nil && spec.MTLS.EnabledBackend != ""
	}
	return false
}

// identityStatus is how such an object fares. Violations are those that are known at run time: of
// authorities that cannot sign, and of certificates that have ended.
func identityStatus(m *resolve.Reader, o *api.Object, known inspect.FindSidecar, violations []*api.Violation) Status {
	s := Status{Object: o.Ref.String(), Ref: o.Ref, Notes: m.NotesOn(o.Ref)}
	accepted := Condition{Type: "Accepted", Status: "True", Reason: "Accepted"}
	for _, n := range s.Notes {
		if n.Severity == api.Error {
			accepted.Status, accepted.Reason, accepted.Message = "False", n.Code, terminal.NoteText(n)
			break
		}
	}
	s.Conditions = append(s.Conditions, accepted)
	if _, ok := o.Spec.(*api.MeshTrust); ok {
		s.Conditions = append(s.Conditions, trustReady(violationsOf(o, violations)))
		return s
	}
	mesh := o.Mesh
	if o.Kind == api.KindMesh {
		mesh = o.Name
	}
	c := certificatesIn(m, mesh)[o.Ref]
	if c == nil {
		c = &certificates{}
	}
	s.Dataplanes = c.counts(known)
	provider, provides := providerOf(o, violationsOf(o, violations))
	if provides {
		s.Conditions = append(s.Conditions, provider, trustCreated(m, o, c))
	}
	names := c.names()
	s.Conditions = append(s.Conditions, names, c.ready(provides, provider))
	for i := range s.Conditions {
		s.Conditions[i].Dataplanes = s.Dataplanes
	}
	return s
}

// violationsOf are those on an object that are about its authority or its certificates, with those
// that the document tells itself.
func violationsOf(o *api.Object, all []*api.Violation) (out []*api.Violation) {
	for _, v := range all {
		if v.Object == o.Ref && aboutAuthority(v) {
			out = append(out, v)
		}
	}
	if id, ok := o.Spec.(*api.MeshIdentity); ok && len(out) == 0 {
		for _, v := range api.Violations(id.Validate("spec")) {
			if v.Code == api.CodeProviderInvalid {
				v.Severity = api.Error // of the authority, not of the document
				out = append(out, v)
			}
		}
	}
	return out
}

// aboutAuthority reports whether a violation is none of a text: what it is about fails at run time.
func aboutAuthority(v *api.Violation) bool {
	return v.Code == api.CodeProviderInvalid || v.Code == api.CodeExpired
}

// providerOf is whether the authority of a document can sign; not ok for a MeshIdentity without a
// provider. What was issued before stays good.
func providerOf(o *api.Object, violations []*api.Violation) (c Condition, ok bool) {
	if id, is := o.Spec.(*api.MeshIdentity); is && id.Provider == nil {
		return c, false
	}
	c = Condition{Type: conditionProvider, Status: "True", Reason: reasonReady}
	for _, v := range violations {
		if v.Severity == api.Error {
			c.Status, c.Reason, c.Message = "False", api.CodeProviderInvalid, string(v.Field)+": "+v.Message+"; certificates that were issued stay good until they end"
			break
		}
		c.Reason, c.Message = "Expiring", v.Message
	}
	return c, true
}

// trustCreated is whether others believe the authority of a document: there is its MeshTrust.
func trustCreated(m *resolve.Reader, o *api.Object, of *certificates) Condition {
	c := Condition{Type: conditionTrust, Status: "False", Reason: "Pending", Message: "its MeshTrust is not there yet"}
	id, ok := o.Spec.(*api.MeshIdentity)
	if ok && id.IsSpire() {
		return trustOutside(m, o, of.domain)
	}
	if ok && id.Provider.Bundled != nil && id.Provider.Bundled.MeshTrustCreation == "Disabled" {
		c.Reason, c.Message = "Disabled", "meshTrustCreation is Disabled; the certificates are believed where a MeshTrust says so"
		return c
	}
	if t := snapshot.TrustOf(m.Snapshot(), o); t != nil {
		c.Status, c.Reason, c.Message = "True", "Created", t.Ref.String()
	}
	return c
}

// trustOutside is whether others believe an authority that is not weft's: some MeshTrust is of its
// trust domain, made by weft or by people.
func trustOutside(m *resolve.Reader, o *api.Object, domain string) Condition {
	for t := range m.Snapshot().Of(api.KindMeshTrust, o.Mesh) {
		if spec, ok := t.Spec.(*api.MeshTrust); ok && (spec.TrustDomain == domain || domain == "" && t == snapshot.TrustOf(m.Snapshot(), o)) {
			return Condition{Type: conditionTrust, Status: "True", Reason: "Created", Message: t.Ref.String()}
		}
	}
	return Condition{Type: conditionTrust, Status: "False", Reason: api.CodeNoTrust,
		Message: "no MeshTrust is of its trust domain; apply one with the bundle of its SPIRE, or give the control plane a Workload API by SPIFFE_ENDPOINT_SOCKET"}
}

// trustReady is whether a MeshTrust has roots that are valid.
func trustReady(violations []*api.Violation) Condition {
	c := Condition{Type: conditionReady, Status: "True", Reason: reasonReady}
	for _, v := range violations {
		if c.Message == "" || v.Severity == api.Error {
			c.Reason, c.Message = v.Code, string(v.Field)+": "+v.Message
		}
		if v.Severity == api.Error {
			c.Status = "False"
			break
		}
	}
	return c
}

// counts: those whose name can be made take part, and those who have shown a certificate have it.
func (c *certificates) counts(known inspect.FindSidecar) Counts {
	n := Counts{Selected: c.selected, Effective: c.selected - c.lacking(api.CodeSpiffeIDInvalid), Programmed: c.proved}
	n.Rejected = len(c.without) - (c.selected - n.Effective)
	if known == nil {
		return n
	}
	for _, ref := range c.refs {
		if s, ok := known(ref); ok && s.Connected {
			n.Connected++
		}
	}
	return n
}

// lacking is how many get no certificate for a reason.
func (c *certificates) lacking(code string) (n int) {
	for _, u := range c.without {
		if u.Code == code {
			n++
		}
	}
	return n
}

// names is whether every dataplane has one.
func (c *certificates) names() Condition {
	out := Condition{Type: conditionNames, Status: "True", Reason: reasonReady}
	if n := c.lacking(api.CodeSpiffeIDInvalid); n > 0 {
		out.Status, out.Reason = "False", api.CodeSpiffeIDInvalid
		out.Message = fmt.Sprintf("%d of %d dataplanes have no name: %s", n, c.selected, c.told(func(u *inspect.Uncertified) bool { return u.Code == api.CodeSpiffeIDInvalid }))
	}
	return out
}

// told are the first who get no certificate, with why.
func (c *certificates) told(which func(*inspect.Uncertified) bool) string {
	var out []string
	for i := range c.without {
		if u := &c.without[i]; which(u) && len(out) < mostTold {
			out = append(out, u.Dataplane+": "+u.Message)
		}
	}
	return strings.Join(out, "; ")
}

// ready is whether all dataplanes get certificates.
func (c *certificates) ready(provides bool, provider Condition) Condition {
	out := Condition{Type: conditionReady, Status: "False", Reason: reasonPartial}
	switch {
	case !provides:
		out.Message = "without a provider names are made, and nothing proves them; add one to have certificates issued"
	case provider.Status != "True":
		out.Reason, out.Message = provider.Reason, provider.Message
	case c.selected == 0:
		out.Reason, out.Message = "SelectsNothing", "no dataplane has this identity"
	case len(c.without) > 0:
		out.Message = fmt.Sprintf("%d of %d dataplanes get no certificate: %s", len(c.without), c.selected, c.told(func(*inspect.Uncertified) bool { return true }))
	default:
		out.Status, out.Reason = "True", reasonReady
		out.Message = fmt.Sprintf("%d of %d dataplanes have shown a certificate", c.proved, c.selected)
	}
	return out
}

// IdentityConditions are those of an object beside Accepted; none of one that has no such.
func IdentityConditions(m *resolve.Reader, ref api.Ref, violations []*api.Violation) []Condition {
	o, ok := m.Snapshot().Get(ref)
	if !ok || !TellsIdentity(o) {
		return nil
	}
	return identityStatus(m, o, nil, violations).Conditions[1:]
}

// tellingIdentity are the objects of a mesh with the conditions of documents about identities, and
// the mesh where it is one.
func tellingIdentity(m *resolve.Reader, mesh string) (out []api.Ref) {
	if o, ok := m.Snapshot().Get(api.Ref{Kind: api.KindMesh, Name: mesh}); ok && TellsIdentity(o) {
		out = append(out, o.Ref)
	}
	for _, kind := range []string{api.KindMeshIdentity, api.KindMeshTrust} {
		for o := range m.Snapshot().Of(kind, mesh) {
			out = append(out, o.Ref)
		}
	}
	return out
}
