package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// revokes reports whether a rule stands in the document of revocations of its mesh, which takes
// names away from everybody and does not open a mesh to anybody: beside it the permission that
// came with the mesh holds on.
func revokes(o *api.Origin) bool { return o != nil && o.Name == api.RevocationsName(o.Mesh) }

// revoked are the names that such rules deny over all else, sorted.
func (p *Permissions) revoked() (out []string) {
	for _, e := range p.Deny {
		if e.Tier == OverrideDenies && revokes(e.Origin) {
			for _, test := range e.holds.names {
				out = append(out, test.exact...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Revoked are the callers whom a document denies over all else, whatever they ask: what a document of
// revocations takes away.
func (authorizer) Revoked(s *policies.Spec) []policies.Named {
	var out []policies.Named
	for i := range s.Rules {
		c, ok := s.Rules[i].Override.(*Conf)
		if !ok {
			continue
		}
		at := api.Path("spec.rules").Index(i).Field("override").Field(deny)
		for j := range c.Deny {
			if m := &c.Deny[j]; m.SpiffeID != nil && m.SNI == nil && m.HTTP == nil {
				out = append(out, policies.Named{Field: at.Index(j).Field("spiffeID").Field("value"), Name: m.SpiffeID.Value, Prefix: m.SpiffeID.Type != exact})
			}
		}
	}
	return out
}
