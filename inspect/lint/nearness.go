package lint

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

func affinityAbsent(v *view) (found []*api.Violation) {
	preferred := v.preferring()
	saying(v, func(x *clusterRow, e *policies.Effective, c effective.NearnessSayer) {
		field := c.NearnessField()
		s, said := settingOf(e, field)
		if field == "" || !said || preferred[x.use.Cluster] || x.use.Endpoints == nil || len(x.use.List) == 0 {
			return
		}
		v.gather(&found, v.about(s, "AffinityAbsent", "no caller of %s shares one of the tags with an endpoint, so all endpoints count alike; name tags that both have", x.use.Destination.Name))
	})
	return found
}

// preferring are the clusters of which some caller prefers an endpoint.
func (v *view) preferring() map[*effective.Cluster]bool {
	out := map[*effective.Cluster]bool{}
	for r := range v.model.Dataplanes("") {
		for i := range r.Clusters {
			use := &r.Clusters[i]
			if out[use.Cluster] || use.Endpoints == nil {
				continue
			}
			if near := r.Nearness(use.Cluster); len(near.Tags) > 0 {
				out[use.Cluster] = slices.ContainsFunc(use.List, func(e effective.Endpoint) bool { return near.At(&e) < len(near.Tags) })
			}
		}
	}
	return out
}
