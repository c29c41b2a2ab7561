package resolve

import (
	"iter"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Item is one entry of a policy that selects a dataplane.
type Item struct {
	Policy *api.Object
	Spec   *policies.Spec
	Index  int         // in spec.to, or spec.from
	Origin *api.Origin // as in what holds
	item   *index.Item
	mesh   mesh
}

func (m mesh) itemOf(it *index.Item) Item {
	return Item{Policy: it.Policy.Object, Spec: it.Policy.Object.Spec.(*policies.Spec), Index: it.Rank.Index, Origin: it.Origin, item: it, mesh: m}
}

// Leaves are what the item says by default.
func (it *Item) Leaves() []merge.Leaf { return it.item.Leaves }

// Overrides are what the item says over everything that is nearer to a route.
func (it *Item) Overrides() []merge.Leaf { return it.item.Overrides }

// CompareOverrides is negative where the overrides of b beat those of a. What is
// attached to routes counts as attached to one.
func CompareOverrides(a, b *Item) int {
	of := func(it *index.Item) *index.Override {
		switch ref := it.RouteRef(); {
		case ref == nil:
			return &index.Override{Item: it, Layer: it.Layer}
		case ref.SectionName != "":
			return &index.Override{Item: it, Layer: merge.Rule}
		}
		return &index.Override{Item: it, Layer: merge.Route}
	}
	c, _ := of(a.item).Decide(of(b.item))
	return c
}

// Destinations are those that the item of to names, in the order of their ids: all
// where it is for the whole mesh, none where it is attached to a route.
func (it *Item) Destinations() iter.Seq[*effective.Destination] {
	return func(yield func(*effective.Destination) bool) {
		if it.item.RouteRef() != nil {
			return
		}
		for d := range it.mesh.DestinationsNamed(index.TargetName(it.item.Target)) {
			if it.item.Selects(&d.Facts) && !yield(d.Destination) {
				return
			}
		}
	}
}

// Routes are those that the item names in to.
func (it *Item) Routes() []*route.ParsedRoute {
	var out []*route.ParsedRoute
	if it.item.Target.IsRoute() {
		for r := range it.mesh.SelectedRoutes(&it.item.Target, it.Policy.Home()) {
			out = append(out, r.Parsed)
		}
	}
	return out
}

// Matched is the policies of one kind that select one dataplane, shadow ones left
// out, weakest first: for views that show policies rather than what they come to.
type Matched struct {
	q    *Reader
	mesh mesh
	at   *index.Dataplane
	list []ranked
}

// ranked is a policy with the place of the strongest route that it targets, nil
// for none.
type ranked struct {
	*index.Policy
	route *index.Rank
}

// Matched looks for the policies of a kind that select the dataplane, once for all
// that is asked about them.
func (q *Reader) Matched(dp api.Ref, kind string) *Matched {
	x, ok := q.mesh(dp.Mesh)
	if !ok {
		return &Matched{}
	}
	at, _ := x.Dataplanes.Get(x.At, index.ObjectKey(dp))
	if at == nil {
		return &Matched{}
	}
	m := &Matched{q: q, mesh: x, at: at}
	for p := range x.PoliciesByKind.Values(x.At, kind) {
		if p.Object.Shadow() {
			continue
		}
		if p.TopRoute == nil {
			if p.Selector.Selects(&at.Facts) {
				m.list = append(m.list, ranked{Policy: p})
			}
			continue
		}
		if route, selects := throughRoutes(x, p, at); selects {
			m.list = append(m.list, ranked{p, route})
		}
	}
	slices.SortFunc(m.list, func(a, b ranked) int {
		if a.route != nil && b.route != nil {
			if c, _ := a.route.Decide(b.route); c != 0 {
				return c
			}
		}
		c, _ := a.Own.Decide(&b.Own)
		return c
	})
	return m
}

// throughRoutes is the place of the strongest route that the policy targets, which
// decides between two attached policies (spec/kuma.md 4.7), and whether one of
// them selects the dataplane.
func throughRoutes(x mesh, p *index.Policy, at *index.Dataplane) (strongest *index.Rank, selects bool) {
	for r := range x.SelectedRoutes(p.TopRoute, p.Object.Home()) {
		selects = selects || r.Selector.Selects(&at.Facts)
		if strongest == nil {
			strongest = &r.Rank
		} else if c, _ := r.Rank.Decide(strongest); c > 0 {
			strongest = &r.Rank
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
	items := make([]*index.Item, 0, len(m.list))
	noted := m.mesh.Attached().At(m.mesh.At)
	for _, p := range m.list {
		var nowhere []*index.Item
		if n := noted.Get(index.ObjectKey(p.Object.Ref)); n != nil {
			nowhere = n.Nowhere
		}
		if p.OfDataplanes {
			items = append(items, p.Inbound...)
		}
		for _, it := range p.Items {
			if !slices.Contains(nowhere, it) {
				items = append(items, it)
			}
		}
	}
	slices.SortFunc(items, index.ByRank)
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
		if len(p.Inbound) == 0 || !p.Selector.SelectsInbound(&m.at.Facts, in.Tags) || !p.OnSection(in) {
			continue
		}
		spec := p.Object.Spec.(*policies.Spec)
		for _, it := range p.Inbound[:min(len(spec.From), len(p.Inbound))] {
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
	s, _ := x.Services.Get(x.At, index.ObjectKey(ref))
	if s == nil {
		return nil
	}
	spec, ok := s.Object.Spec.(*api.MeshService)
	if !ok {
		return nil
	}
	var out []api.Ref
	for _, p := range spec.Ports {
		for _, m := range x.SelectedInbounds(s.Object, spec, p.Port) {
			out = append(out, m.Plane.Object.Ref)
		}
	}
	slices.SortFunc(out, api.Ref.Compare)
	return slices.Compact(out)
}

// NamedRule is a rule of a route that a policy names by its place among the others, as 2 or 0.2.
type NamedRule struct {
	Field   api.Path // of the sectionName in the policy
	Section string
	Route   api.Ref
	Origin  *api.Origin
	Matches []match.Match
}

// NamedByIndex are the rules that a policy names by their places.
func (q *Reader) NamedByIndex(ref api.Ref) []NamedRule {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	var out []NamedRule
	add := func(at api.Path, to *api.TargetRef) {
		if to == nil || to.SectionName == "" {
			return
		}
		for r := range x.SelectedRoutes(to, p.Object.Home()) {
			if n, ok := byIndex(r, to.SectionName); ok {
				n.Field = at.Field("sectionName")
				out = append(out, n)
			}
		}
	}
	add("spec.targetRef", p.TopRoute)
	for _, it := range p.Items {
		if it.Target.IsRoute() {
			add(it.Field.Field("targetRef"), &it.Target)
		}
	}
	return out
}

// byIndex is the rule that a sectionName means which is the name of none.
func byIndex(r *index.Route, section string) (NamedRule, bool) {
	if r.RuleNames[section] {
		return NamedRule{}, false
	}
	for _, e := range r.Parsed.Entries {
		for i := range e.Rules {
			rule := &e.Rules[i]
			if rule.Origin.Ref == r.Object.Ref && slices.Contains(r.Sections(rule.Origin), section) {
				return NamedRule{Section: section, Route: r.Object.Ref, Origin: rule.Origin, Matches: rule.Matches}, true
			}
		}
	}
	return NamedRule{}, false
}
