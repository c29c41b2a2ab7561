package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

func compareText(a, b string) int { return cmp.Compare(a, b) }

// catchAll is the implicit last route of every table.
var catchAll = route.Match{Path: &route.PathMatch{Type: route.Prefix, Value: "/"}}

// ImplicitKey is the key of the implicit last route. It is the one that Kuma's
// language gives to its match (spec/kuma.md 2.1), so that a rule for everything
// and the implicit route have one name.
const ImplicitKey = "9Zuf5Tg79OuZcQITwBbQykxAk2u4fRKrwYn3//AL4Yo="

// tabler makes the tables of one mesh.
type tabler struct {
	mesh     *mesh
	prior    *mesh // the revision before, whose values stay where they are equal; may be nil
	kinds    []*policies.Kind
	dialects []route.Dialect
}

// tableBuilder makes one table.
type tableBuilder struct {
	*tabler
	dest     *dest
	class    *class
	own      Backend
	clusters []clusterRef
	stacks   map[*item][]stack // by their last item
}

// stack is a list of attached items and what the policies come to under it.
type stack struct {
	items    []attachedItem
	policies Policies
}

// attachedItem is an item at one of the routes to which it attaches.
type attachedItem struct {
	item  *item
	layer merge.LayerName
	from  *contribution // the weakest of that route, which gives it its place
}

func (b *tableBuilder) build() *Table {
	var mine []*contribution
	for _, c := range b.dest.subjects.contributions {
		if b.class.has[c.route.selector.Key] {
			mine = append(mine, c)
		}
	}
	t := &Table{Destination: b.dest.Destination}
	open := true
	for _, m := range mergeRules(mine) {
		r := b.route(m, mine)
		for i := range m.matches {
			one := *r
			one.Match = m.matches[i]
			open = open && !isCatchAll(one.Match)
			t.Routes = append(t.Routes, &one)
		}
	}
	if len(mine) > 0 {
		order := b.dialects[mine[0].route.dialect].Compare
		slices.SortStableFunc(t.Routes, func(x, y *Route) int { return order(&x.Match, &y.Match) })
	}
	if open {
		t.Routes = append(t.Routes, b.implicit())
	}
	return t
}

func isCatchAll(m route.Match) bool {
	return m.Path != nil && *m.Path == *catchAll.Path && m.Method == "" && len(m.Query) == 0 && len(m.Headers) == 0
}

// implicit is the route that sends what nothing else matched to the destination.
func (b *tableBuilder) implicit() *Route {
	b.use(b.dest.Destination, nil)
	matches := []route.Match{catchAll}
	return &Route{Key: ImplicitKey, Name: ImplicitKey, Match: catchAll, Matches: matches, Backends: []Backend{b.own}, Policies: b.class.outbound}
}

// route is one merged rule, but for which of its matches it stands for.
func (b *tableBuilder) route(m *mergedRule, mine []*contribution) *Route {
	r := &Route{Key: m.key, Name: m.key, Matches: m.matches, Origins: m.origins(), Filters: m.filters, Policies: b.policies(m, mine)}
	if m.filtersBy != nil {
		r.FiltersBy = m.filtersBy.rule.Origin
		for _, f := range m.filters {
			if f.Mirror != nil {
				r.Mirrors = append(r.Mirrors, Mirror{b.backend(f.Mirror.Backend, m.filtersBy.route), f.Mirror.Percent})
			}
		}
	}
	if m.backendsBy != nil {
		r.BackendsBy = m.backendsBy.rule.Origin
		for _, ref := range m.backends {
			r.Backends = append(r.Backends, b.backend(ref, m.backendsBy.route))
		}
	}
	if len(r.Backends) == 0 {
		b.use(b.dest.Destination, nil)
		r.Backends = []Backend{b.own}
	}
	return r
}

// use notes that the table names a cluster.
func (b *tableBuilder) use(d *Destination, tags map[string]string) {
	b.clusters = append(b.clusters, clusterRef{d.ID, clusterName(d, tags), tags})
}

// policies lays what is attached to the contributing routes over the base: the
// routes in their order, then within each the order of spec/kuma.md 4.3 (4.7);
// what names one rule comes after all that names a whole route.
func (b *tableBuilder) policies(m *mergedRule, mine []*contribution) Policies {
	var items []attachedItem
	for _, layer := range []merge.LayerName{merge.Route, merge.Rule} {
		for _, c := range contributors(m, mine) {
			for _, it := range m.takes(c.route, layer, b.dest.subjects.attached[c.route]) {
				if b.class.has[it.policy.selector.Key] {
					items = append(items, attachedItem{it, layer, c})
				}
			}
		}
	}
	if len(items) == 0 {
		return b.class.outbound
	}
	last := items[len(items)-1].item
	for _, s := range b.stacks[last] {
		if slices.Equal(s.items, items) {
			return s.policies
		}
	}
	all := slices.Clone(b.class.base)
	for i := range items {
		all.add(items[i].item.policy.kind, items[i].byDefault())
	}
	s := stack{items, all.overridden(b.class.overrides, overridesOf(items)).fold(b.kinds)}
	b.stacks[last] = append(b.stacks[last], s)
	return s.policies
}

// contributors are the route objects behind a merged rule, weakest first, each
// once, by the weakest of what they say about the destination.
func contributors(m *mergedRule, mine []*contribution) []*contribution {
	var out []*contribution
	for _, c := range mine {
		if !slices.ContainsFunc(out, func(o *contribution) bool { return o.route == c.route }) &&
			slices.ContainsFunc(m.sources, func(s source) bool { return s.route == c.route }) {
			out = append(out, c)
		}
	}
	return out
}

// takes lists the items of one layer, of those attached to r, that are about one
// of the rules that r gave to m, weakest first.
func (m *mergedRule) takes(r *routeObject, layer merge.LayerName, a *attachments) []*item {
	if layer == merge.Route {
		return a.whole
	}
	if len(a.bySection) == 0 {
		return nil
	}
	var out []*item
	for _, s := range m.sources {
		if s.route != r {
			continue
		}
		for _, name := range r.sections(s.rule.Origin) {
			out = append(out, a.bySection[name]...)
		}
	}
	slices.SortFunc(out, byRank)
	return slices.Compact(out)
}
