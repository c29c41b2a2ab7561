package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// Item is one entry of a policy that selects a dataplane.
type Item struct {
	Policy *api.Object
	Spec   *policies.Spec
	Index  int         // in spec.to, or spec.from
	Origin *api.Origin // as in what holds
	item   *item
	mesh   mesh
}

func (m mesh) itemOf(it *item) Item {
	return Item{Policy: it.policy.object, Spec: it.policy.object.Spec.(*policies.Spec), Index: it.rank.index, Origin: it.origin, item: it, mesh: m}
}

// Leaves are what the item says by default.
func (it *Item) Leaves() []merge.Leaf { return it.item.leaves }

// Overrides are what the item says over everything that is nearer to a route.
func (it *Item) Overrides() []merge.Leaf { return it.item.overrides }

// CompareOverrides is negative where the overrides of b beat those of a. What is
// attached to routes counts as attached to one.
func CompareOverrides(a, b *Item) int {
	of := func(it *item) *override {
		switch ref := it.routeRef(); {
		case ref == nil:
			return &override{item: it, layer: it.layer}
		case ref.SectionName != "":
			return &override{item: it, layer: merge.Rule}
		}
		return &override{item: it, layer: merge.Route}
	}
	c, _ := of(a.item).decide(of(b.item))
	return c
}

// Destinations are those that the item of to names, in the order of their ids: all
// where it is for the whole mesh, none where it is attached to a route.
func (it *Item) Destinations() iter.Seq[*effective.Destination] {
	return func(yield func(*effective.Destination) bool) {
		if it.item.routeRef() != nil {
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
func (it *Item) Routes() []*route.Opinion {
	var out []*route.Opinion
	if it.item.target.IsRoute() {
		for r := range it.mesh.selectedRoutes(&it.item.target, it.Policy.Home()) {
			out = append(out, r.opinion)
		}
	}
	return out
}

// Matched is the policies of one kind that select one dataplane, shadow ones left
// out, weakest first: for views that show policies rather than what they come to.
type Matched struct {
	q    *Reader
	mesh mesh
	at   *dataplane
	list []ranked
}

// ranked is a policy with the place of the strongest route that it targets, nil
// for none.
type ranked struct {
	*policy
	route *rank
}

// Matched looks for the policies of a kind that select the dataplane, once for all
// that is asked about them.
func (q *Reader) Matched(dp api.Ref, kind string) *Matched {
	x, ok := q.mesh(dp.Mesh)
	if !ok {
		return &Matched{}
	}
	at, _ := x.dataplanes.Get(x.at, objectKey(dp))
	if at == nil {
		return &Matched{}
	}
	m := &Matched{q: q, mesh: x, at: at}
	for p := range x.policiesByKind.Values(x.at, kind) {
		if p.object.Shadow() {
			continue
		}
		if p.topRoute == nil {
			if p.selector.Selects(&at.facts) {
				m.list = append(m.list, ranked{policy: p})
			}
			continue
		}
		if route, selects := throughRoutes(x, p, at); selects {
			m.list = append(m.list, ranked{p, route})
		}
	}
	slices.SortFunc(m.list, func(a, b ranked) int {
		if a.route != nil && b.route != nil {
			if c, _ := a.route.decide(b.route); c != 0 {
				return c
			}
		}
		c, _ := a.own.decide(&b.own)
		return c
	})
	return m
}

// throughRoutes is the place of the strongest route that the policy targets, which
// decides between two attached policies (spec/kuma.md 4.7), and whether one of
// them selects the dataplane.
func throughRoutes(x mesh, p *policy, at *dataplane) (strongest *rank, selects bool) {
	for r := range x.selectedRoutes(p.topRoute, p.object.Home()) {
		selects = selects || r.selector.Selects(&at.facts)
		if strongest == nil {
			strongest = &r.rank
		} else if c, _ := r.rank.decide(strongest); c > 0 {
			strongest = &r.rank
		}
	}
	return strongest, selects
}

// Items are the entries of to of all those policies, weakest first by the whole
// order of spec/kuma.md 4.3. Those whose target is nowhere, which act nowhere
// either, are left out.
func (m *Matched) Items() []Item {
	if len(m.list) == 0 {
		return nil
	}
	items := make([]*item, 0, len(m.list))
	noted := m.q.noted(m.mesh, m.at.object.Mesh)
	for _, p := range m.list {
		nowhere := noted.on(p.object).nowhere
		for _, it := range p.items {
			if !slices.Contains(nowhere, it) {
				items = append(items, it)
			}
		}
	}
	slices.SortFunc(items, byRank)
	out := make([]Item, len(items))
	for i, it := range items {
		out[i] = m.mesh.itemOf(it)
	}
	return out
}

// From are the entries of from that concern an inbound of the dataplane, by
// policy, weakest first.
func (m *Matched) From(in *effective.Inbound) []Item {
	var out []Item
	for _, p := range m.list {
		if len(p.inbound) == 0 || !p.selector.SelectsInbound(&m.at.facts, in.Tags) || !p.onSection(in) {
			continue
		}
		spec := p.object.Spec.(*policies.Spec)
		for _, it := range p.inbound[:min(len(spec.From), len(p.inbound))] {
			out = append(out, m.mesh.itemOf(it))
		}
	}
	return out
}

// AnsweringFor are the dataplanes with an inbound behind a MeshService.
func (q *Reader) AnsweringFor(ref api.Ref) []api.Ref {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	s, _ := x.services.Get(x.at, objectKey(ref))
	if s == nil {
		return nil
	}
	spec, ok := s.object.Spec.(*api.MeshService)
	if !ok {
		return nil
	}
	var out []api.Ref
	for _, p := range spec.Ports {
		for _, m := range x.selectedInbounds(s.object, spec, p.Port) {
			out = append(out, m.plane.object.Ref)
		}
	}
	slices.SortFunc(out, api.Ref.Compare)
	return slices.Compact(out)
}
