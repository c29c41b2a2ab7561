package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/hostnames"
)

// GeneratorReport is what a HostnameGenerator makes of the services of all meshes.
type GeneratorReport struct {
	Broken string // why it makes nothing; empty where it can
	Named  int    // services that have the name that it makes
	Lost   []LostName
}

// LostName is a service that a generator selects and gives no name.
type LostName struct {
	Service     api.Ref
	Reason, Why string // TemplateError or Collision
}

// GeneratorReport is that of a generator; not ok of what is none.
func (q *Reader) GeneratorReport(ref api.Ref) (out GeneratorReport, ok bool) {
	o, ok := q.Snapshot().Get(ref)
	if !ok {
		return out, false
	}
	g := hostnames.NewGenerator(o, q.all.ZoneLabels)
	if g == nil {
		return out, false
	}
	out.Broken = g.Broken
	it := q.meshes.Root().Iterator()
	for name, _, more := it.Next(); more; name, _, more = it.Next() {
		x, _ := q.mesh(string(name))
		for n := range x.NamingsByGenerator.Values(x.At, ref.String()) {
			for i := range n.Claims {
				c := &n.Claims[i]
				if c.By.Object.Ref != ref {
					continue
				}
				if reason, why := x.LostClaim(n.Service, c); reason != "" {
					out.Lost = append(out.Lost, LostName{n.Service.Object.Ref, reason, why})
				} else {
					out.Named++
				}
			}
		}
	}
	slices.SortFunc(out.Lost, func(a, b LostName) int { return a.Service.Compare(b.Service) })
	return out, true
}

// gathered are the MeshServices that one across zones stands for.
func (m mesh) gathered(spec *api.MeshMultiZoneService) []api.MatchedService {
	if spec.Selector == nil || spec.Selector.MeshService == nil {
		return nil
	}
	var out []api.MatchedService
	for o := range m.Objects(api.KindMeshService, spec.Selector.MeshService.MatchLabels) {
		labels := api.LabelsOf(o, m.ZoneLabels)
		zone, _ := labels.Get(api.LabelZone)
		out = append(out, api.MatchedService{Name: o.DisplayName(), Namespace: o.HomeNamespace(), Zone: zone, Mesh: o.Mesh})
	}
	return out
}
