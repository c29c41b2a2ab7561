package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Item is one entry of to of a policy that selects a dataplane.
type Item struct {
	Policy *api.Object
	Spec   *policies.Spec
	Index  int // in spec.to
}

// Matched are the policies of one kind that select the dataplane, shadow ones
// left out, weakest first: for views that show policies rather than what they
// come to.
func (m *Model) Matched(dp api.Ref, kind string) []*api.Object {
	var out []*api.Object
	for _, p := range m.matched(dp, kind) {
		out = append(out, p.object)
	}
	return out
}

func (m *Model) matched(dp api.Ref, kind string) []*policy {
	at, ok := m.planed(dp)
	if !ok {
		return nil
	}
	x, _ := m.meshes.Get([]byte(dp.Mesh))
	var out []*policy
	for _, o := range collect(x.objects.Root().Iterator()) {
		if p, ok := o.(*policy); ok && p.object.Kind == kind && !p.object.Shadow() && selected(x, p, at.plane) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *policy) int {
		if a.topRoute != nil && b.topRoute != nil {
			if c := a.routeRank(x).compare(b.routeRank(x)); c != 0 {
				return c
			}
		}
		return a.rank().compare(b.rank())
	})
	return out
}

// rank is the place of the policy as a whole.
func (p *policy) rank() rank {
	return rankOf(p.object, p.object.Spec.(*policies.Spec).Top(), policies.Role(p.object))
}

// routeRank is the place of the strongest route that the policy targets: it
// decides between two attached policies (spec/kuma.md 4.7).
func (p *policy) routeRank(x *mesh) rank {
	var out rank
	for r := range selectedRoutes(x, *p.topRoute, p.object.HomeNamespace()) {
		if out.ref.Name == "" || r.rank.compare(out) > 0 {
			out = r.rank
		}
	}
	return out
}

// Items are the entries of to of all those policies, weakest first by the whole
// order of spec/kuma.md 4.3.
func (m *Model) Items(dp api.Ref, kind string) []Item {
	var items []*item
	for _, p := range m.matched(dp, kind) {
		items = append(items, p.items...)
	}
	slices.SortFunc(items, byRank)
	out := make([]Item, len(items))
	for i, it := range items {
		out[i] = Item{Policy: it.policy.object, Spec: it.policy.object.Spec.(*policies.Spec), Index: it.rank.index}
	}
	return out
}

// TargetRoutes are the routes that a policy's top-level targetRef names.
func (m *Model) TargetRoutes(policyRef api.Ref) []*route.Object {
	x, ok := m.meshes.Get([]byte(policyRef.Mesh))
	if !ok {
		return nil
	}
	o, _ := x.objects.Get([]byte(objectKey(policyRef)))
	p, ok := o.(*policy)
	if !ok || p.topRoute == nil {
		return nil
	}
	var out []*route.Object
	for r := range selectedRoutes(x, *p.topRoute, p.object.HomeNamespace()) {
		out = append(out, r.parsed)
	}
	return out
}
