package resolve

import (
	"slices"
	"unique"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
	"github.com/weftmesh/weft/resolve/index"
)

// The modes in which inbounds take mutual TLS.
const ()

// guard is what a mesh says of identities, and what it said before (api.MeshInsight).
type guard struct {
	mesh string
	gives
	gave gives
}

// gives is what gives dataplanes identities.
type gives struct {
	authority  *api.Authority // of Mesh.mtls, that is enabled; nil for none
	at         api.Path       // where it stands
	identities []*api.Object

	// origins are of what gives them, one for all dataplanes that have theirs by it: of each of
	// identities, and the last one of authority.
	origins []*api.Origin
}

// ready makes origins, when the rest is known.
func (g *gives) ready(mesh string) {
	for _, o := range g.identities {
		g.origins = append(g.origins, &api.Origin{Ref: o.Ref})
	}
	g.origins = append(g.origins, &api.Origin{Ref: api.Ref{Kind: api.KindMesh, Name: mesh}, Field: g.at})
}

// from takes note of Mesh.mtls, and says how many authorities it has.
func (g *gives) from(m *api.MeshTLS) int {
	if m == nil {
		return 0
	}
	at := api.Path("mtls")
	all, _ := m.Authorities(at) // of what is wrong the document's validation tells
	for i := range all {
		if m.EnabledBackend != "" && all[i].Name == m.EnabledBackend {
			g.authority, g.at = &all[i], at.Field("backends").Index(i)
		}
	}
	return len(all)
}

// addIdentities derives who each dataplane is, and how it takes mutual TLS.
func (c *identityStage) addIdentities() {
	c.guards = derive.Derive(c.below.Schema, "identities said", c.below.MeshObjects, derive.Values[guard]{
		Equal: func(a, b *guard) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, key string) *guard {
		o, _ := c.below.MeshObjects.Get(r, key)
		return c.derived(r).guardOf(o)
	})
	c.guarded = derive.Derive(c.below.Schema, "identities said at all", c.below.MeshObjects, derive.Values[bool]{Equal: func(a, b *bool) bool { return *a == *b }},
		func(r *derive.Reader, mesh string) *bool {
			g, failed := c.guards.Get(r, mesh)
			yes := true // also where what it says is not known: then plain text is not what is wanted
			if g == nil && failed == nil {
				return nil
			}
			return &yes
		})
	c.addTrust()
	c.addRevoked()
	c.addSecured()
}

// guardOf is nil for a mesh that says nothing of identities.
func (m identityMesh) guardOf(o *api.Object) *guard {
	g := &guard{mesh: o.Name}
	for x := range m.Objects(api.KindMeshIdentity, nil) {
		g.identities = append(g.identities, x)
	}
	trusted := false
	for range m.Objects(api.KindMeshTrust, nil) {
		trusted = true
		break
	}
	if before, _ := m.OtherObjects.Get(m.At, index.ObjectKey(api.MeshInsightRef(o.Name))); before != nil {
		if left, ok := before.Spec.(*api.MeshInsight); ok {
			g.gave.from(left.MTLS)
			g.gave.identities = left.Identities
		}
	}
	authorities := 0
	if spec, ok := o.Spec.(*api.Mesh); ok {
		authorities = g.from(spec.MTLS)
	}
	if authorities == 0 && len(g.identities) == 0 && !trusted && !g.gave.any() {
		return nil
	}
	g.ready(o.Name)
	g.gave.ready(o.Name)
	return g
}

// mode is that of inbounds of which no MeshTLS says one: what Mesh.mtls says, also where a MeshIdentity
// gives the names. Nothing but a mode that somebody has written cuts plain text off.
func (g *gives) mode() string {
	if g.authority != nil && !g.authority.Permissive {
		return effective.Strict
	}
	return effective.Permissive
}

func (g *gives) any() bool { return g.authority != nil || len(g.identities) > 0 }

// guard is what the mesh says of identities; nil for nothing.
func (m identityMesh) guard() *guard {
	for g := range m.guards.Values(m.At) {
		return g
	}
	return nil
}

// isGuarded reports whether the mesh says anything of identities.
func (m identityMesh) isGuarded() bool { return m.guarded.Any(m.At) }

// identityOf is nil for a dataplane that has none: the mesh proves nobody, and no MeshIdentity
// selects it.
func (m identityMesh) identityOf(g *guard, p *index.Dataplane) *effective.Identity {
	if out := m.identityBy(&g.gives, p); out != nil {
		return out
	}
	out := m.identityBy(&g.gave, p)
	if out == nil || out.Problem != "" {
		return nil
	}
	out.Mode, out.Leaves = effective.Permissive, true
	return out
}

// identityBy is the identity that somebody gives a dataplane; nil for none.
func (m identityMesh) identityBy(g *gives, p *index.Dataplane) *effective.Identity {
	f := identity.Facts{Dataplane: &p.Facts, Mesh: p.Object.Mesh, Zone: m.Zone}
	if zone, ok := p.Facts.Labels.Get(api.LabelZone); ok {
		f.Zone.Name = zone
	}
	if p.Object.From != nil {
		f.Zone.Environment = api.EnvKubernetes
	}
	f.ServiceAccount, _ = p.Facts.Labels.Get(identity.ServiceAccountLabel)
	if o := identity.Select(g.identities, &p.Facts.Labels); o != nil {
		spec := o.Spec.(*api.MeshIdentity)
		out := &effective.Identity{Origin: g.origins[slices.Index(g.identities, o)], Life: spec.LeafLife(), Mode: g.mode()}
		id, err := identity.ByTemplate(spec, f)
		if err != nil {
			out.Problem = err.Error()
			return out
		}
		out.Names = shared([]string{id.String()})
		return out
	}
	if g.authority == nil {
		return nil
	}
	out := &effective.Identity{Origin: g.origins[len(g.identities)], Life: g.authority.LeafLife, Mode: g.mode()}
	names, err := identity.ByTags(f)
	if err != nil {
		out.Problem = err.Error()
		return out
	}
	out.Names = shared(names)
	return out
}

// shared has names be one text for all dataplanes of a service.
func shared(names []string) []string {
	for i, n := range names {
		names[i] = unique.Make(n).Value()
	}
	return names
}

// fallbackNotes say of a MeshIdentity that nobody has said whether plain text is cut off.
func fallbackNotes(x mesh, o *api.Object) []api.Note {
	g := x.guard()
	if g == nil || g.authority != nil || x.tlsKind < 0 {
		return nil
	}
	for p := range x.PoliciesByKind.Values(x.At, x.Kinds[x.tlsKind].Name) {
		if p.Object.Spec.(*policies.Spec).Top().Kind == api.KindMesh && p.Section == "" && slices.ContainsFunc(p.Inbound, func(it *index.Item) bool {
			e := x.folded([]*index.Item{it})
			return e != nil && e.Conf.(TLSConf).InboundMode() != ""
		}) {
			return nil
		}
	}
	return []api.Note{api.Notef(&api.Origin{Ref: o.Ref}, api.Warning, api.CodePermissiveByDefault, "",
		"no mtls of the Mesh and no MeshTLS for the whole mesh says in which mode inbounds take mutual TLS, so those of whom no other MeshTLS says it are Permissive and take plain text too; apply a MeshTLS of mode Permissive to say so, or of mode Strict once nobody calls in plain text")}
}

// insightOf is what is known of a dataplane at run time.
func (m identityMesh) insightOf(ref api.Ref) *api.DataplaneInsight {
	if i, _ := m.Insights.Get(m.At, index.ObjectKey(ref)); i != nil {
		return i
	}
	return &api.DataplaneInsight{}
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
	return ok && x.isGuarded()
}

// Leaves reports whether dataplanes of a mesh go on with an identity of before.
func (m *Model) Leaves(name string) bool {
	x, ok := m.mesh(name)
	if !ok {
		return false
	}
	g := x.guard()
	return g != nil && g.gave.any()
}

// Uncertified tells why a dataplane of a mesh gets no certificate; not ok for one that has no
// identity, and where nothing is known to keep it from one.
func (q *Reader) Uncertified(mesh string) func(api.Ref) (why api.IdentityRefusal, ok bool) {
	x, there := q.mesh(mesh)
	return func(ref api.Ref) (why api.IdentityRefusal, ok bool) {
		if !there {
			return why, false
		}
		return x.withoutCertificate(ref, x.securedOf(ref).identity())
	}
}

func (m identityMesh) withoutCertificate(ref api.Ref, id *effective.Identity) (why api.IdentityRefusal, ok bool) {
	switch {
	case id == nil:
		return why, false
	case id.Problem != "":
		return api.IdentityRefusal{Code: api.CodeSpiffeIDInvalid, Message: id.Problem}, true
	}
	why = m.insightOf(ref).Refused
	return why, why.Code != ""
}

// identityNotes say why a dataplane gets no certificate.
func identityNotes(x mesh, p *index.Dataplane) []api.Note {
	s := x.securedOf(p.Object.Ref)
	if notes := revokedNotes(s, p); notes != nil {
		return notes
	}
	id := s.identity()
	why, ok := x.withoutCertificate(p.Object.Ref, id)
	switch skew := x.insightOf(p.Object.Ref).Skew; {
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
