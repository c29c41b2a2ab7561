package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/resolve/services"
)

// wider are the contributions for all hosts below a name of which d is one, from the
// kind that is named the most exactly: those of an object with the same kind and Edges
// as one that names d itself.
func (m routingMesh) wider(d *services.Destination, exact []*index.Contribution) []*index.Contribution {
	var out []*index.Contribution
	for _, name := range d.HostsAbove() {
		for r := range m.RoutesByTarget.Values(m.At, name) {
			for i := range r.Parsed.Entries {
				e := &r.Parsed.Entries[i]
				if !e.Below || e.To.Name != name || e.To.Kind != api.KindHost || !matcher.Claims(e.To, &d.Facts) || r.Object.Shadow() || len(e.Rules) == 0 {
					continue
				}
				if slices.ContainsFunc(exact, func(c *index.Contribution) bool { return c.Route.Kind == r.Kind && c.Entry.Edges == e.Edges }) {
					out = append(out, &index.Contribution{Route: r, Entry: e, Rank: r.Rank.Of(e.To, e.Index)})
				}
			}
		}
	}
	return out
}

// hostCalls adds those to all hosts at the port that the outbound of an index names.
func (m reachabilityMesh) hostCalls(o *api.Outbound, index int32, scope string, add func(call)) {
	for d := range m.HostsSeen(o.Hosts.Port, scope) {
		if d.AtEdgesAlone() {
			continue
		}
		add(call{address: cmp.Or(o.Address, "127.0.0.1"), port: o.Port, index: index, dest: d})
	}
}
