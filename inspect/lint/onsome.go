package lint

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// onSome: an entry of to names a route that some of the selected dataplanes lack, for which the form
// with the route at the top is meant (spec/kuma.md 4.10).
func onSome(v *view) (found []*api.Violation) {
	byMesh := map[string][]api.Ref{}
	var meshes []string
	at := map[api.Ref]api.Path{}
	for _, ref := range v.refs() {
		o := v.mine[ref]
		spec, ok := o.Spec.(*policies.Spec)
		if !ok || o.Shadow() || spec.Top().IsRoute() {
			continue
		}
		for i := range spec.To {
			if spec.To[i].TargetRef.IsRoute() && at[ref] == "" {
				at[ref] = api.Path("spec.to").Index(i).Field("targetRef")
			}
		}
		if at[ref] == "" {
			continue
		}
		if byMesh[ref.Mesh] == nil {
			meshes = append(meshes, ref.Mesh)
		}
		byMesh[ref.Mesh] = append(byMesh[ref.Mesh], ref)
	}
	for _, mesh := range meshes {
		refs := byMesh[mesh]
		has, lacks := make([]int, len(refs)), make([]int, len(refs))
		v.model.Reader(nil).ImpactOf(mesh, refs, func(n, _ int, _ *effective.Resolved, p impact.Presence) {
			if p == impact.Lacks {
				lacks[n]++
			} else {
				has[n]++
			}
		})
		for n, ref := range refs {
			if has[n] > 0 && lacks[n] > 0 {
				v.gather(&found, v.on(ref, at[ref], "RouteOnSome", "the route is on %d of the %d selected dataplanes that call what it is about, and the others have nothing of the policy; name it in spec.targetRef to follow it wherever it is",
					has[n], has[n]+lacks[n]))
			}
		}
	}
	return found
}
