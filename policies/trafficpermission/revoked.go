package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/api"
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
