package effective

import (
	"cmp"

	"github.com/weftmesh/weft/api"
)

// Service is the service that a dataplane belongs to, by which what it sends is told of: that of its gateway
// or of its first inbound, else the name of that; of a dataplane without any, its own name.
func (r *Resolved) Service() string {
	dp, ok := r.Dataplane.Spec.(*api.Dataplane)
	if !ok || dp.Networking == nil {
		return r.Ref.Name
	}
	if g := dp.Networking.Gateway; g != nil && g.Tags[api.TagService] != "" {
		return g.Tags[api.TagService]
	}
	if in := dp.Networking.Inbound; len(in) > 0 {
		return cmp.Or(in[0].Tags[api.TagService], in[0].Name, r.Ref.Name)
	}
	return r.Ref.Name
}
