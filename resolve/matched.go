package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// Item is one entry of a policy that selects a dataplane.
type Item struct {
	Policy *api.Object
	Spec   *policies.Spec
	Index  int         // in spec.to, or spec.from
	Origin *api.Origin // as in what holds
	item   *item
	mesh   *mesh
}

func (m *mesh) itemOf(it *item) Item {
	return Item{Policy: it.policy.object, Spec: it.policy.object.Spec.(*policies.Spec), Index: it.rank.index, Origin: it.origin, item: it, mesh: m}
}

// Destinations are those that the item of to names, in the order of their ids;
// none where it is for the whole mesh or attached to a route.
func (it Item) Destinations() iter.Seq[*Destination] {
	return func(yield func(*Destination) bool) {
		if it.item.routeRef() != nil || it.item.target.Kind == api.KindMesh {
			return
		}
		for d := range it.mesh.destsNamed(targetName(it.item.target)) {
			if it.item.selects(&d.facts) && !yield(d.Destination) {
				return
			}
		}
	}
}

// Routes are those that the item names in to.
func (it Item) Routes() []*route.Opinion {
	var out []*route.Opinion
	if it.item.target.IsRoute() {
		for r := range selectedRoutes(it.mesh, it.item.target, it.Policy.HomeNamespace()) {
			out = append(out, r.opinion)
		}
	}
	return out
}

// Matched are the policies of one kind that select the dataplane, shadow ones
// left out, weakest first: for views that show policies rather than what they
// come to.
func (q *Reader) Matched(dp api.Ref, kind string) []*api.Object {
	var out []*api.Object
	for _, p := range q.matched(dp, kind) {
		out = append(out, p.object)
	}
	return out
}

// ranked is a policy with its places in the order.
type ranked struct {
	*policy
	route, own rank // of the strongest route that it targets, and of itself
}

func (q *Reader) matched(dp api.Ref, kind string) []ranked {
	at, ok := q.planed(dp)
	if !ok {
		return nil
	}
	x, _ := q.meshes.Get([]byte(dp.Mesh))
	var out []ranked
	for p := range x.policiesOf(kind) {
		if !q.visit() {
			break
		}
		if !p.object.Shadow() && selected(x, p, at.plane) {
			r := ranked{policy: p, own: p.rank()}
			if p.topRoute != nil {
				r.route = p.routeRank(x)
			}
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b ranked) int {
		if a.topRoute != nil && b.topRoute != nil {
			if c := a.route.compare(b.route); c != 0 {
				return c
			}
		}
		return a.own.compare(b.own)
	})
	return out
}

// policiesOf yields the policies of one kind in the order of their refs.
func (m *mesh) policiesOf(kind string) iter.Seq[*policy] {
	return func(yield func(*policy) bool) {
		it := m.objects.Root().Iterator()
		it.SeekPrefix([]byte(kind + "/"))
		for _, o, ok := it.Next(); ok; _, o, ok = it.Next() {
			if p, ok := o.(*policy); ok && !yield(p) {
				return
			}
		}
	}
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
// order of spec/kuma.md 4.3. Those whose target is nowhere, which act nowhere
// either, are left out.
func (q *Reader) Items(dp api.Ref, kind string) []Item {
	x, _ := q.meshes.Get([]byte(dp.Mesh))
	var items []*item
	for _, p := range q.matched(dp, kind) {
		for _, it := range p.items {
			if n, bad := q.itemNote(x, it, p.object.HomeNamespace()); !bad || n.Severity != api.Error {
				items = append(items, it)
			}
		}
	}
	slices.SortFunc(items, byRank)
	out := make([]Item, len(items))
	for i, it := range items {
		out[i] = x.itemOf(it)
	}
	return out
}

// FromItems are the entries of from that concern an inbound of the dataplane,
// by policy, weakest first.
func (q *Reader) FromItems(dp api.Ref, in *Inbound, kind string) []Item {
	at, ok := q.planed(dp)
	if !ok {
		return nil
	}
	x, _ := q.meshes.Get([]byte(dp.Mesh))
	var out []Item
	for _, p := range q.matched(dp, kind) {
		if len(p.inbound) == 0 || !p.selector.SelectsInbound(&at.plane.facts, in.Tags) || !p.onSection(in) {
			continue
		}
		spec := p.object.Spec.(*policies.Spec)
		for _, it := range p.inbound[:min(len(spec.From), len(p.inbound))] {
			out = append(out, x.itemOf(it))
		}
	}
	return out
}

// AnsweringFor are the dataplanes with an inbound behind a MeshService.
func (q *Reader) AnsweringFor(ref api.Ref) []api.Ref {
	x, ok := q.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil
	}
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	s, ok := o.(*service)
	if !ok {
		return nil
	}
	spec, ok := s.object.Spec.(*api.MeshService)
	if !ok {
		return nil
	}
	u := updater{tabler: tabler{mesh: x}}
	var out []api.Ref
	for _, p := range spec.Ports {
		for _, m := range u.selected(spec, p.Port) {
			q.visit()
			out = append(out, m.plane.object.Ref)
		}
	}
	slices.SortFunc(out, api.Ref.Compare)
	return slices.Compact(out)
}
