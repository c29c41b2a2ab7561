package resolve

import (
	"cmp"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// allDomains is the key of the Trust in all domains.
const allDomains = "*"

// TrustName is the name of the Trust of a mesh in some domains; in all of them where none are
// named (spec/identity.md 3.1).
func TrustName(mesh string, domains ...string) string {
	name := "mesh_ca:secret:" + mesh
	if len(domains) > 0 {
		name += ":" + strings.Join(domains, ",")
	}
	return name
}

// addTrust derives who speaks for each domain.
func (c *identityStage) addTrust() {
	c.domains = derive.Derive(c.below.Schema, "trust domains", c.below.OtherObjects.Index(func(_ string, o *api.Object, add func(string)) {
		if t, ok := o.Spec.(*api.MeshTrust); ok {
			add(t.TrustDomain)
		}
	}), derive.Values[effective.TrustDomain]{Equal: func(a, b *effective.TrustDomain) bool { return derive.Same(*a, *b) }}, func(r *derive.Reader, name string) *effective.TrustDomain {
		d := &effective.TrustDomain{Name: name}
		for o := range c.derived(r).Objects(api.KindMeshTrust, nil) {
			if t := o.Spec.(*api.MeshTrust); t.TrustDomain == name {
				for _, root := range t.Roots() {
					d.Roots = append(d.Roots, root.Raw)
				}
			}
		}
		slices.SortFunc(d.Roots, slices.Compare)
		d.Roots = slices.CompactFunc(d.Roots, slices.Equal)
		return d
	})
}

// addTrusts derives what proxies are sent of it: all of it, and what each cluster needs.
func (c *dataplanesStage) addTrusts() {
	all := c.below.guards.Index(func(_ string, _ *guard, add func(string)) { add(allDomains) })
	some := c.clusters.Index(func(_ string, x *clusterKept, add func(string)) {
		if x.TLS != nil {
			add(strings.Join(x.TLS.Domains, ","))
		}
	})
	c.trusts = derive.Derive(c.below.Schema, "trust", derive.Union(all, some), derive.Values[trustKept]{
		Equal: func(a, b *trustKept) bool { return derive.Same(a.Trust, b.Trust) },
	}, func(r *derive.Reader, key string) *trustKept {
		x := c.derived(r)
		g := x.guard()
		if g == nil {
			return nil
		}
		if key == allDomains {
			out := &trustKept{Trust: effective.Trust{Name: TrustName(g.mesh)}}
			for d := range c.below.domains.Values(r) {
				out.Domains = append(out.Domains, *d)
			}
			if len(out.Domains) == 0 { // what believes nobody has a domain too
				out.Domains = []effective.TrustDomain{{Name: g.mesh}}
			}
			slices.SortFunc(out.Domains, func(a, b effective.TrustDomain) int { return cmp.Compare(a.Name, b.Name) })
			return out
		}
		names := strings.Split(key, ",")
		out := &trustKept{Trust: effective.Trust{Name: TrustName(g.mesh, names...)}}
		for _, name := range names {
			d := effective.TrustDomain{Name: name}
			if known, _ := c.below.domains.Get(r, name); known != nil {
				d = *known
			}
			out.Domains = append(out.Domains, d)
		}
		return out
	})
}

// identify says who r is, and whom it believes; or why that is not known.
func (m dataplanesMesh) identify(r *effective.Resolved, key string) *derive.Failed {
	s, failed := m.secured.Get(m.At, key)
	if s == nil {
		return failed
	}
	r.Identity, r.TLS, r.Unseen, r.OverADS, r.Closed = s.Identity, s.certified, s.unseen, s.overADS, s.closed
	r.Trust = m.trustOf(r)
	return nil
}

// trustOf is whom the proxy of r believes, by name: where its inbounds take mutual TLS everybody
// of the mesh, and for each cluster those of its domains.
func (m dataplanesMesh) trustOf(r *effective.Resolved) []effective.TrustUse {
	var keys []string
	if slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil }) {
		keys = append(keys, allDomains)
	}
	if r.TLS {
		for _, c := range r.Clusters {
			if c.TLS != nil {
				keys = append(keys, strings.Join(c.TLS.Domains, ","))
			}
		}
	}
	slices.Sort(keys)
	var out []effective.TrustUse
	for _, key := range slices.Compact(keys) {
		if t, _ := m.trusts.Get(m.At, key); t != nil {
			out = append(out, effective.TrustUse{Trust: &t.Trust, Kept: &t.kept})
		}
	}
	return out
}

// trustNotes say of a MeshTrust that others speak for its domain too, by other roots: each of them
// can sign every name of the domain.
func trustNotes(x mesh, o *api.Object, spec *api.MeshTrust) []api.Note {
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
