package dataplanes

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/identity"
)

type cachedTrust struct {
	effective.Trust
	cache effective.Derived
}

// secretsOf are those that the listeners of r show, by name. Of a dataplane that shows
// none nothing is looked up.
func (m Mesh) secretsOf(r *effective.Resolved) []effective.SecretUse {
	var out []effective.SecretUse
	for _, e := range r.Edges {
		for _, c := range r.Chains(e.Edge) {
			for _, ref := range c.Secrets {
				if s := m.Certificate(ref); s != nil && !slices.ContainsFunc(out, func(u effective.SecretUse) bool { return u.Secret == &s.Secret }) {
					out = append(out, effective.SecretUse{Secret: &s.Secret, Cache: &s.Cache})
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b effective.SecretUse) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// addTrusts derives what proxies are sent of it: all of it, and what each cluster needs.
func (c *Stage) addTrusts() {
	all := c.below.MeshIssuers.Index(func(_ string, _ *identity.MeshIssuers, add func(string)) { add(identity.AllDomains) })
	some := c.clusters.Index(func(_ string, x *Cluster, add func(string)) {
		if x.TLS != nil {
			add(strings.Join(x.TLS.Domains, ","))
		}
	})
	c.trusts = derive.Derive(c.below.Schema, "trust", derive.Union(all, some), derive.Values[cachedTrust]{
		Equal: func(a, b *cachedTrust) bool { return derive.Same(a.Trust, b.Trust) },
	}, func(r *derive.Reader, key string) *cachedTrust {
		x := c.Mesh(r)
		g := x.Issuers()
		if g == nil {
			return nil
		}
		if key == identity.AllDomains {
			out := &cachedTrust{Trust: effective.Trust{Name: identity.TrustName(g.Mesh)}}
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
		out := &cachedTrust{Trust: effective.Trust{Name: identity.TrustName(g.Mesh, names...)}}
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
func (m Mesh) identify(r *effective.Resolved, key string) *derive.Failed {
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
func (m Mesh) trustOf(r *effective.Resolved) []effective.TrustUse {
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
			out = append(out, effective.TrustUse{Trust: &t.Trust, Cache: &t.cache})
		}
	}
	return out
}
