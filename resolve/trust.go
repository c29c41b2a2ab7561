package resolve

import (
	"cmp"
	"crypto/x509"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
)

// addTrusts derives what proxies are sent of it: all of it, and what each cluster needs.
func (c *dataplanesStage) addTrusts() {
	all := c.below.MeshIssuers.Index(func(_ string, _ *identity.MeshIssuers, add func(string)) { add(identity.AllDomains) })
	some := c.clusters.Index(func(_ string, x *clusterKept, add func(string)) {
		if x.TLS != nil {
			add(strings.Join(x.TLS.Domains, ","))
		}
	})
	c.trusts = derive.Derive(c.below.Schema, "trust", derive.Union(all, some), derive.Values[trustKept]{
		Equal: func(a, b *trustKept) bool { return derive.Same(a.Trust, b.Trust) },
	}, func(r *derive.Reader, key string) *trustKept {
		x := c.derived(r)
		g := x.Issuers()
		if g == nil {
			return nil
		}
		if key == identity.AllDomains {
			out := &trustKept{Trust: effective.Trust{Name: identity.TrustName(g.Mesh)}}
			for d := range c.below.Domains.Values(r) {
				out.Domains = append(out.Domains, *d)
			}
			if len(out.Domains) == 0 { // what believes nobody has a domain too
				out.Domains = []effective.TrustDomain{{Name: g.Mesh}}
			}
			slices.SortFunc(out.Domains, func(a, b effective.TrustDomain) int { return cmp.Compare(a.Name, b.Name) })
			return out
		}
		names := strings.Split(key, ",")
		out := &trustKept{Trust: effective.Trust{Name: identity.TrustName(g.Mesh, names...)}}
		for _, name := range names {
			d := effective.TrustDomain{Name: name}
			if known, _ := c.below.Domains.Get(r, name); known != nil {
				d = *known
			}
			out.Domains = append(out.Domains, d)
		}
		return out
	})
}

// identify says who r is, and whom it believes; or why that is not known.
func (m dataplanesMesh) identify(r *effective.Resolved, key string) *derive.Failed {
	s, failed := m.DataplaneTLS.Get(m.At, key)
	if s == nil {
		return failed
	}
	r.Identity, r.TLS, r.Unseen, r.OverADS, r.Closed = s.Identity, s.Certified, s.Unseen, s.OverADS, s.Closed
	r.Trust = m.trustOf(r)
	return nil
}

// trustOf is whom the proxy of r believes, by name: where its inbounds take mutual TLS everybody
// of the mesh, and for each cluster those of its domains.
func (m dataplanesMesh) trustOf(r *effective.Resolved) []effective.TrustUse {
	var keys []string
	if slices.ContainsFunc(r.Inbounds, func(i effective.InboundUse) bool { return i.TLS != nil }) {
		keys = append(keys, identity.AllDomains)
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
