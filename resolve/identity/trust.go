package identity

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/effective"
)

// AllDomains is the key of the Trust in all domains.
const AllDomains = "*"

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
func (c *Stage) addTrust() {
	c.Domains = derive.Derive(c.below.Schema, "trust domains", c.below.OtherObjects.Index(func(_ string, o *api.Object, add func(string)) {
		if t, ok := o.Spec.(*api.MeshTrust); ok {
			add(t.TrustDomain)
		}
	}), derive.Values[effective.TrustDomain]{Equal: func(a, b *effective.TrustDomain) bool { return derive.Same(*a, *b) }}, func(r *derive.Reader, name string) *effective.TrustDomain {
		d := &effective.TrustDomain{Name: name}
		for o := range c.Mesh(r).Objects(api.KindMeshTrust, nil) {
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
