package index

import (
	"strings"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/route"
)

// CodeNotAdmitted marks what lives in a namespace that takes no part in the mesh.
const CodeNotAdmitted = "NamespaceNotAdmitted"

// CodeOtherClass marks a route of an ingress class that weft does not serve, and CodeAnyClass
// one that is served because no classes are named.
const CodeOtherClass = "OtherIngressClass"

// CodeCertificateKept marks a certificate that an edge dataplane is not given.
const CodeCertificateKept = "CertificateNotShown"

// addTenancy derives what the Mesh says of its tenants.
func (c *Stage) addTenancy() {
	c.tenancies = derive.Derive(c.Schema, "tenancy", c.MeshObjects, derive.Values[api.Tenancy]{Equal: func(a, b *api.Tenancy) bool { return derive.Same(a, b) }},
		func(r *derive.Reader, key string) *api.Tenancy {
			o, _ := c.MeshObjects.Get(r, key)
			return api.TenancyOf(o)
		})
}

// Tenancy is what the Mesh says of its tenants; nil where it says nothing.
func (m Mesh) Tenancy() *api.Tenancy {
	for _, t := range m.tenancies.All(m.At) {
		return t
	}
	return nil
}

// ClassOf is the ingress class of a route object; empty where its dialect has none.
func ClassOf(d *route.Dialect, o *api.Object) string {
	if d.Class == nil {
		return ""
	}
	return d.Class(o)
}

// Excluded says why a document takes no part in the mesh; nil where it does. Routes of other
// ingress classes are no mistakes: another controller serves them.
func (m Mesh) Excluded(o *api.Object) *api.Note {
	t := m.Tenancy()
	if t == nil {
		return nil
	}
	origin := &api.Origin{Ref: o.Ref}
	if o.From != nil { // what follows from a Pod is told there
		origin = &api.Origin{Ref: *o.From}
	}
	if home := o.Home(); !t.Admits(home) {
		n := api.Notef(origin, api.Error, CodeNotAdmitted, "", "namespace %s is not part of mesh %s, so this does nothing there; add the namespace to tenancy.namespaces of Mesh %s, or put this into another mesh", home.Namespace, o.Mesh, o.Mesh)
		return &n
	}
	if d, _ := KindOf(m.Dialects, o.Kind); d != nil {
		if class := ClassOf(d, o); !t.ServesClass(class) {
			n := api.Notef(origin, api.Info, CodeOtherClass, "", "it is of ingress class %s, which weft does not serve here; if weft should, name the class in tenancy.ingressClasses of Mesh %s, or leave it out here", redact.Clip(class), o.Mesh)
			return &n
		}
	}
	return nil
}

// admitted reports whether a document takes part in the mesh.
func (m Mesh) admitted(o *api.Object) bool { return m.Excluded(o) == nil }

// A host at a port is one destination for all dataplanes, but where hosts are owned one for each
// scope: what those of a namespace see of it follows from the claims of that namespace and from
// those that act everywhere, and from nothing else.
const (
	ScopeAll    = ""  // every claim, for dataplanes without a namespace, and where hosts are open
	ScopeCommon = "*" // those that act everywhere, for namespaces without a claim of their own
)

// scopesOf are the scopes in which a claim of the route on a host takes part, beside those of
// namespaces with claims of their own where it acts everywhere.
func (r *Route) scopesOf(host string) []string {
	switch {
	case !r.Tenancy.HostsOwned():
		return []string{ScopeAll}
	case r.Owns(host):
		return []string{ScopeAll, r.Object.HomeNamespace()}
	}
	return []string{ScopeAll, ScopeCommon}
}

// Owns reports whether a claim of the route on a host acts in its own namespace alone.
func (r *Route) Owns(host string) bool { return r.Tenancy.Owns(r.Object.Home(), host) }

// own marks the entries for hosts that act in the namespace of the route alone.
func (r *Route) own() {
	for i := range r.Parsed.Entries {
		if to := &r.Parsed.Entries[i].To; to.Kind == api.KindHost && r.Owns(to.Name) {
			to.Namespace = r.Object.HomeNamespace()
		}
	}
}

// InScope is the key of a host in a scope.
func InScope(id, scope string) string {
	if scope == ScopeAll {
		return id
	}
	return tuple.Append(id, scope)
}

// CutScope is the id of a host, and the scope of its key.
func CutScope(key string) (id, scope string) {
	id, scope, _ = tuple.CutLast(key)
	return id, scope
}

// HostScope is the scope in which a dataplane sees hosts, where its namespace has claims.
func (m Mesh) HostScope(p *Dataplane) string {
	if p.Facts.Namespace == "" || !m.Tenancy().HostsOwned() {
		return ScopeAll
	}
	return p.Facts.Namespace
}

// sharesHost reports whether what o says of a host holds wherever the word of the reader does.
func (m Mesh) sharesHost(reader, o *api.Object, host string) bool {
	mine, theirs := reader.Home(), o.Home()
	return mine.Namespace == theirs.Namespace || !m.Tenancy().Owns(theirs, host)
}

// OfNamespace reports whether a name begins with those of a service and of its namespace.
func OfNamespace(service, namespace, name string) bool {
	full := strings.ToLower(service + "." + namespace)
	return name == full || strings.HasPrefix(name, full+".")
}

// Competes reports whether one service may keep a name from another.
func (m Mesh) Competes(o, s *Service, name string) bool {
	theirs, mine := o.Object.Home(), s.Object.Home()
	return theirs.Namespace == mine.Namespace || !m.Tenancy().Owns(theirs, name)
}

// MayShow reports whether an edge dataplane may show the certificate in a Secret: whose key it
// then has. That its routes may name the Secret is another question.
func (m Mesh) MayShow(p *Dataplane, secret api.Ref) bool {
	home := p.Object.Home()
	return home.Namespace == "" || secret.Namespace == home.Namespace || m.Tenancy().ShowsForeign(home)
}

// Restricted reports whether namespaces are kept out of the mesh.
func (m Mesh) Restricted() bool {
	t := m.Tenancy()
	return t != nil && t.Namespaces != nil
}
