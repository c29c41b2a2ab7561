package resolve

import (
	"iter"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// The codes of notes on what Mesh.tenancy keeps from acting.
const (
	// CodeNotAdmitted marks what lives in a namespace that takes no part in the mesh.
	CodeNotAdmitted = "NamespaceNotAdmitted"
	// CodeOtherClass marks a route of an ingress class that weft does not serve, and CodeAnyClass
	// one that is served because no classes are named.
	CodeOtherClass = "OtherIngressClass"
	CodeAnyClass   = "IngressClassServed"
	// CodeNotOwned marks a host that acts in the namespace of its object alone.
	CodeNotOwned = "HostNotGranted"
	// CodeCertificateKept marks a certificate that an edge dataplane is not given.
	CodeCertificateKept = "CertificateNotShown"
)

// addTenancy derives what the Mesh says of its tenants.
func (c *indexStage) addTenancy() {
	c.tenancies = derive.Derive(c.schema, "tenancy", c.meshObjects, derive.Values[api.Tenancy]{Equal: func(a, b *api.Tenancy) bool { return derive.Same(a, b) }},
		func(r *derive.Reader, key string) *api.Tenancy {
			o, _ := c.meshObjects.Get(r, key)
			return api.TenancyOf(o)
		})
}

// tenancy is what the Mesh says of its tenants; nil where it says nothing.
func (m indexMesh) tenancy() *api.Tenancy {
	for _, t := range m.tenancies.All(m.at) {
		return t
	}
	return nil
}

// Tenancy is what a mesh says of its tenants; nil where it says nothing.
func (m *Model) Tenancy(name string) *api.Tenancy {
	if x, ok := m.mesh(name); ok {
		return x.tenancy()
	}
	return nil
}

// Serves reports whether a route object is served by its ingress class: where it is not, it is
// another controller's, and so is its status.
func (m *Model) Serves(o *api.Object) bool {
	d, _ := kindOf(m.all.dialects, o.Kind)
	return d == nil || m.Tenancy(o.Mesh).ServesClass(classOf(d, o))
}

func classOf(d *route.Dialect, o *api.Object) string {
	if d.Class == nil {
		return ""
	}
	return d.Class(o)
}

// keptOut says why a document takes no part in the mesh; nil where it does. Routes of other
// ingress classes are no mistakes: another controller serves them.
func (m indexMesh) keptOut(o *api.Object) *api.Note {
	t := m.tenancy()
	if t == nil {
		return nil
	}
	origin := &api.Origin{Ref: o.Ref}
	if o.From != nil { // what follows from a Pod is told there
		origin = &api.Origin{Ref: *o.From}
	}
	if home := o.Home(); !t.Admits(home) {
		n := api.Notef(origin, api.Error, CodeNotAdmitted, "", "namespace %s takes no part in mesh %s, so this does nothing there; add the namespace to tenancy.namespaces of Mesh %s, or put this into another mesh", home.Namespace, o.Mesh, o.Mesh)
		return &n
	}
	if d, _ := kindOf(m.dialects, o.Kind); d != nil {
		if class := classOf(d, o); !t.ServesClass(class) {
			n := api.Notef(origin, api.Info, CodeOtherClass, "", "it is of ingress class %s, which weft does not serve here; if weft should, name the class in tenancy.ingressClasses of Mesh %s, or leave it out here", api.Clip(class), o.Mesh)
			return &n
		}
	}
	return nil
}

// admitted reports whether a document takes part in the mesh.
func (m indexMesh) admitted(o *api.Object) bool { return m.keptOut(o) == nil }

// KeptOut says why a document takes no part in its mesh by Mesh.tenancy; not ok where it does.
func (q *Reader) KeptOut(o *api.Object) (api.Note, bool) {
	x, ok := q.mesh(o.Mesh)
	if !ok {
		return api.Note{}, false
	}
	n := x.keptOut(o)
	if n == nil {
		return api.Note{}, false
	}
	return *n, true
}

// A host at a port is one destination for all dataplanes, but where hosts are owned one for each
// scope: what those of a namespace see of it follows from the claims of that namespace and from
// those that act everywhere, and from nothing else.
const (
	scopeAll    = ""  // every claim, for dataplanes without a namespace, and where hosts are open
	scopeCommon = "*" // those that act everywhere, for namespaces without a claim of their own
)

// scopesOf are the scopes in which a claim of the route on a host takes part, beside those of
// namespaces with claims of their own where it acts everywhere.
func (r *routeObject) scopesOf(host string) []string {
	switch {
	case !r.tenancy.HostsOwned():
		return []string{scopeAll}
	case r.owns(host):
		return []string{scopeAll, r.object.HomeNamespace()}
	}
	return []string{scopeAll, scopeCommon}
}

// owns reports whether a claim of the route on a host acts in its own namespace alone.
func (r *routeObject) owns(host string) bool { return r.tenancy.Owns(r.object.Home(), host) }

// own marks the entries for hosts that act in the namespace of the route alone.
func (r *routeObject) own() {
	for i := range r.opinion.Entries {
		if to := &r.opinion.Entries[i].To; to.Kind == api.KindHost && r.owns(to.Name) {
			to.Namespace = r.object.HomeNamespace()
		}
	}
}

// inScope is the key of a host in a scope.
func inScope(id, scope string) string {
	if scope == scopeAll {
		return id
	}
	return id + "\x04" + scope
}

// cutScope is the id of a host, and the scope of its key.
func cutScope(key string) (id, scope string) {
	id, scope, _ = strings.Cut(key, "\x04")
	return id, scope
}

// hostScope is the scope in which a dataplane sees hosts, where its namespace has claims.
func (m indexMesh) hostScope(p *dataplane) string {
	if p.facts.Namespace == "" || !m.tenancy().HostsOwned() {
		return scopeAll
	}
	return p.facts.Namespace
}

// hostsSeen yields the hosts at a port that are seen in a scope.
func (m servicesMesh) hostsSeen(port uint32, scope string) iter.Seq[*dest] {
	if scope == scopeAll || scope == scopeCommon {
		return m.destsNamed(hostsAt(port, scope))
	}
	return func(yield func(*dest) bool) {
		for d := range m.destsNamed(hostsAt(port, scope)) {
			if !yield(d) {
				return
			}
		}
		for d := range m.destsNamed(hostsAt(port, scopeCommon)) {
			if m.dest(inScope(d.ID, scope)) == nil && !yield(d) {
				return
			}
		}
	}
}

// destsMeant yields the destinations that an entry may mean where it acts: of hosts that are owned
// those that namespaces see.
func (m servicesMesh) destsMeant(r *routeObject, e *route.Entry) iter.Seq[*dest] {
	if e.To.Kind != api.KindHost || !r.tenancy.HostsOwned() || r.object.HomeNamespace() == "" {
		return m.destsOf(e)
	}
	return func(yield func(*dest) bool) {
		for d := range m.destsOf(e) {
			if _, scope := cutScope(d.key); scope != scopeAll && !yield(d) {
				return
			}
		}
	}
}

// destFor is what a destination that a dataplane calls follows from.
func (m servicesMesh) destFor(d *effective.Destination, p *dataplane) *dest {
	if d.Kind == api.KindHost {
		for _, scope := range []string{m.hostScope(p), scopeCommon} {
			if own := m.dest(inScope(d.ID, scope)); own != nil {
				return own
			}
		}
	}
	return m.dest(d.ID)
}

// sharesHost reports whether what o says of a host holds wherever the word of the reader does.
func (m indexMesh) sharesHost(reader, o *api.Object, host string) bool {
	mine, theirs := reader.Home(), o.Home()
	return mine.Namespace == theirs.Namespace || !m.tenancy().Owns(theirs, host)
}

// seesName reports whether dataplanes of a namespace call a service by a name, where the service
// has it: as its own, by a grant, or because the name says whose it is.
func (m servicesMesh) seesName(viewer string, d *dest, name string) bool {
	t := m.tenancy()
	if !t.HostsOwned() || viewer == "" || d.Namespace == "" || d.Namespace == viewer {
		return true
	}
	home := api.Home{Namespace: d.Namespace, System: d.object != nil && d.object.Home().System}
	return ofNamespace(d.Name, d.Namespace, name) || !t.Owns(home, name)
}

// ofNamespace reports whether a name begins with those of a service and of its namespace.
func ofNamespace(service, namespace, name string) bool {
	full := strings.ToLower(service + "." + namespace)
	return name == full || strings.HasPrefix(name, full+".")
}

// competes reports whether one service may keep a name from another.
func (m indexMesh) competes(o, s *service, name string) bool {
	theirs, mine := o.object.Home(), s.object.Home()
	return theirs.Namespace == mine.Namespace || !m.tenancy().Owns(theirs, name)
}

// nameTaken reports whether the mesh names a service so for those who see a host in a scope.
func (m servicesMesh) nameTaken(scope, name string) bool {
	for d := range m.destsByHostname.Values(m.at, name) {
		if scope == scopeAll || m.seesName(scope, d, name) {
			return true
		}
	}
	return false
}

// mayShow reports whether an edge dataplane may show the certificate in a Secret: whose key it
// then has. That its routes may name the Secret is another question.
func (m indexMesh) mayShow(p *dataplane, secret api.Ref) bool {
	home := p.object.Home()
	return home.Namespace == "" || secret.Namespace == home.Namespace || m.tenancy().ShowsForeign(home)
}

// mayServe reports whether an edge dataplane may show all certificates that a host brings.
func (m servicesMesh) mayServe(p *dataplane, d *dest) bool {
	if d.TLS == nil {
		return true
	}
	for _, ref := range d.TLS.Secrets {
		if !m.mayShow(p, ref) {
			return false
		}
	}
	return true
}

// ownershipNotes are those on a route because of whose its hosts are, and of its ingress class.
func ownershipNotes(x mesh, r *routeObject) []api.Note {
	var notes []api.Note
	origin := &api.Origin{Ref: r.object.Ref}
	if class := classOf(&x.dialects[r.dialect], r.object); class != "" && (r.tenancy == nil || r.tenancy.IngressClasses == nil) {
		notes = append(notes, api.Notef(origin, api.Warning, CodeAnyClass, "", "it is of ingress class %s and served all the same, for Mesh %s names no classes; if another controller serves it, name yours in tenancy.ingressClasses", api.Clip(class), r.object.Mesh))
	}
	notes = append(notes, unshownNotes(x, r)...)
	told := map[string]bool{}
	for i := range r.opinion.Entries {
		e := &r.opinion.Entries[i]
		home := r.object.HomeNamespace()
		if e.To.Kind != api.KindHost || len(e.Rules) == 0 || told[e.To.Name] || !r.owns(e.To.Name) {
			continue
		}
		told[e.To.Name] = true
		severity := api.Warning
		if e.Edges.Namespace == home {
			severity = api.Info // at its own Gateway, as it says
		}
		notes = append(notes, api.Notef(origin, severity, CodeNotOwned, e.Field, "%s is served to dataplanes of namespace %s alone, for no grant gives it the host elsewhere; add namespace %s and the host to tenancy.hosts.grants of Mesh %s",
			e.To.Name, home, home, r.object.Mesh))
	}
	return notes
}

// restricted reports whether namespaces are kept out of the mesh.
func (m indexMesh) restricted() bool {
	t := m.tenancy()
	return t != nil && t.Namespaces != nil
}

// unshownNotes are those on a route of which no edge dataplane may show the certificate, though there
// are some.
func unshownNotes(x mesh, r *routeObject) []api.Note {
	var notes []api.Note
	for i := range r.opinion.Entries {
		e := &r.opinion.Entries[i]
		if e.To.Kind != api.KindHost || e.TLS == nil || r.object.Shadow() {
			continue
		}
		for _, ref := range e.TLS.Secrets {
			at, shown := x.edgeNamespaces(ref)
			if shown || len(at) == 0 {
				continue
			}
			notes = append(notes, api.Notef(&api.Origin{Ref: r.object.Ref}, api.Warning, CodeCertificateKept, e.Field, "no edge dataplane shows its certificate, Secret %s of namespace %s: those that there are run in %s and have no keys of others; name theirs in tenancy.edges of Mesh %s, or run an edge in namespace %s or a system namespace",
				ref.Name, ref.Namespace, strings.Join(at, ", "), r.object.Mesh, ref.Namespace))
		}
	}
	return notes
}

// shownNamespaces is how many namespaces a message has.
const shownNamespaces = 3

// edgeNamespaces are some namespaces of edge dataplanes, none of which may show a certificate; shown
// where one may.
func (m mesh) edgeNamespaces(secret api.Ref) (at []string, shown bool) {
	for p := range m.carrying(pair(ownType, gateway)) {
		if !p.facts.Edge {
			continue
		}
		if m.mayShow(p, secret) {
			return nil, true
		}
		if len(at) < shownNamespaces && !slices.Contains(at, p.facts.Namespace) {
			at = append(at, p.facts.Namespace)
		}
	}
	slices.Sort(at)
	return at, false
}
