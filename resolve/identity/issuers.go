package identity

import (
	"slices"
	"unique"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
)

// MeshIssuers is what a mesh says of identities, and what it said before (api.MeshInsight).
type MeshIssuers struct {
	Mesh string
	Issuers
	Former Issuers
}

// Issuers is what gives dataplanes identities.
type Issuers struct {
	Authority  *api.Authority // of Mesh.mtls, that is enabled; nil for none
	at         api.Path       // where it stands
	Identities []*api.Object

	// origins are of what gives them, one for all dataplanes that have theirs by it: of each of
	// identities, and the last one of authority.
	origins []*api.Origin
}

// ready makes origins, when the rest is known.
func (g *Issuers) ready(mesh string) {
	for _, o := range g.Identities {
		g.origins = append(g.origins, &api.Origin{Ref: o.Ref})
	}
	g.origins = append(g.origins, &api.Origin{Ref: api.Ref{Kind: api.KindMesh, Name: mesh}, Field: g.at})
}

// from takes note of Mesh.mtls, and says how many authorities it has.
func (g *Issuers) from(m *api.MeshTLS) int {
	if m == nil {
		return 0
	}
	at := api.Path("mtls")
	all, _ := m.Authorities(at) // of what is wrong the document's validation tells
	for i := range all {
		if m.EnabledBackend != "" && all[i].Name == m.EnabledBackend {
			g.Authority, g.at = &all[i], at.Field("backends").Index(i)
		}
	}
	return len(all)
}

// addIdentities derives who each dataplane is, and how it takes mutual TLS.
func (c *Stage) addIdentities() {
	c.MeshIssuers = derive.Derive(c.below.Schema, "identities said", c.below.MeshObjects, derive.Values[MeshIssuers]{
		Equal: func(a, b *MeshIssuers) bool { return derive.Same(*a, *b) },
	}, func(r *derive.Reader, key string) *MeshIssuers {
		o, _ := c.below.MeshObjects.Get(r, key)
		return c.Mesh(r).issuersOf(o)
	})
	c.hasIdentities = derive.Derive(c.below.Schema, "identities said at all", c.below.MeshObjects, derive.Values[bool]{Equal: func(a, b *bool) bool { return *a == *b }},
		func(r *derive.Reader, mesh string) *bool {
			g, failed := c.MeshIssuers.Get(r, mesh)
			yes := true // also where what it says is not known: then plain text is not what is wanted
			if g == nil && failed == nil {
				return nil
			}
			return &yes
		})
	c.addTrust()
	c.addRevoked()
	c.addDataplaneTLS()
}

// issuersOf is nil for a mesh that says nothing of identities.
func (m Mesh) issuersOf(o *api.Object) *MeshIssuers {
	g := &MeshIssuers{Mesh: o.Name}
	for x := range m.Objects(api.KindMeshIdentity, nil) {
		g.Identities = append(g.Identities, x)
	}
	trusted := false
	for range m.Objects(api.KindMeshTrust, nil) {
		trusted = true
		break
	}
	if before, _ := m.OtherObjects.Get(m.At, index.ObjectKey(api.MeshInsightRef(o.Name))); before != nil {
		if left, ok := before.Spec.(*api.MeshInsight); ok {
			g.Former.from(left.MTLS)
			g.Former.Identities = left.Identities
		}
	}
	authorities := 0
	if spec, ok := o.Spec.(*api.Mesh); ok {
		authorities = g.from(spec.MTLS)
	}
	if authorities == 0 && len(g.Identities) == 0 && !trusted && !g.Former.Any() {
		return nil
	}
	g.ready(o.Name)
	g.Former.ready(o.Name)
	return g
}

// Mode is that of inbounds of which no MeshTLS says one: what Mesh.mtls says, also where a MeshIdentity
// gives the names. Nothing but a mode that somebody has written cuts plain text off.
func (g *Issuers) Mode() string {
	if g.Authority != nil && !g.Authority.Permissive {
		return effective.Strict
	}
	return effective.Permissive
}

// Any reports whether somebody issues identities.
func (g *Issuers) Any() bool { return g.Authority != nil || len(g.Identities) > 0 }

// Issuers is what the mesh says of identities; nil for nothing.
func (m Mesh) Issuers() *MeshIssuers {
	for g := range m.MeshIssuers.Values(m.At) {
		return g
	}
	return nil
}

// HasIdentities reports whether the mesh says anything of identities.
func (m Mesh) HasIdentities() bool { return m.hasIdentities.Any(m.At) }

// identityOf is nil for a dataplane that has none: the mesh proves nobody, and no MeshIdentity
// selects it.
func (m Mesh) identityOf(g *MeshIssuers, p *index.Dataplane) *effective.Identity {
	if out := m.IdentityBy(&g.Issuers, p); out != nil {
		return out
	}
	out := m.IdentityBy(&g.Former, p)
	if out == nil || out.Problem != "" {
		return nil
	}
	out.Mode, out.Leaves = effective.Permissive, true
	return out
}

// IdentityBy is the identity that somebody gives a dataplane; nil for none.
func (m Mesh) IdentityBy(g *Issuers, p *index.Dataplane) *effective.Identity {
	f := Facts{Dataplane: &p.Facts, Mesh: p.Object.Mesh, Zone: m.Zone}
	if zone, ok := p.Facts.Labels.Get(api.LabelZone); ok {
		f.Zone.Name = zone
	}
	if p.Object.From != nil {
		f.Zone.Environment = api.EnvKubernetes
	}
	f.ServiceAccount, _ = p.Facts.Labels.Get(ServiceAccountLabel)
	if o := Select(g.Identities, &p.Facts.Labels); o != nil {
		spec := o.Spec.(*api.MeshIdentity)
		out := &effective.Identity{Origin: g.origins[slices.Index(g.Identities, o)], Life: spec.CertificateLife(), Mode: g.Mode()}
		id, err := ByTemplate(spec, f)
		if err != nil {
			out.Problem = err.Error()
			return out
		}
		out.Names = shared([]string{id.String()})
		return out
	}
	if g.Authority == nil {
		return nil
	}
	out := &effective.Identity{Origin: g.origins[len(g.Identities)], Life: g.Authority.CertificateLife, Mode: g.Mode()}
	names, err := ByTags(f)
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

// InsightOf is what is known of a dataplane at run time.
func (m Mesh) InsightOf(ref api.Ref) *api.DataplaneInsight {
	if i, _ := m.Insights.Get(m.At, index.ObjectKey(ref)); i != nil {
		return i
	}
	return &api.DataplaneInsight{}
}

// WithoutCertificate is why a dataplane with that identity, nil for none, has no certificate; not ok
// where nothing keeps it from one.
func (m Mesh) WithoutCertificate(ref api.Ref, id *effective.Identity) (why api.IdentityRefusal, ok bool) {
	switch {
	case id == nil:
		return why, false
	case id.Problem != "":
		return api.IdentityRefusal{Code: api.CodeSpiffeIDInvalid, Message: id.Problem}, true
	}
	why = m.InsightOf(ref).Refused
	return why, why.Code != ""
}
