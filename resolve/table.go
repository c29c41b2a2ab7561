package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// tabler makes the tables of one mesh.
type tabler struct {
	mesh     lookup
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

func (b *tableBuilder) build(all *composition) *Table {
	t := &Table{Destination: b.dest.Destination, Routes: make([]*Route, 0, len(all.Rows)+1)}
	rules := map[*route.Composed]*Route{} // of several matches
	for i := range all.Rows {
		row := &all.Rows[i]
		r := new(Route)
		if first := rules[row.Composed]; first != nil {
			*r = *first
		} else {
			*r = b.route(row.Composed, all.from)
		}
		if len(row.Matches) > 1 {
			rules[row.Composed] = r
		}
		r.Match = row.Match
		t.Routes = append(t.Routes, r)
	}
	if all.Unmatched != nil {
		r := b.route(all.Unmatched, nil)
		r.Match, r.Matches = route.CatchAll, []route.Match{route.CatchAll}
		t.Routes = append(t.Routes, &r)
	}
	return t
}

// connections is where whole connections go. No policy attaches to their rules.
func (b *tableBuilder) connections(c *route.Composed) *TCPTable {
	t := &TCPTable{Destination: b.dest.Destination, Origins: c.Origins, BackendsBy: c.ActionBy, Backends: []Backend{b.own}}
	do, ok := c.Do.(*route.Forward)
	if !ok {
		b.use(b.dest.Destination, nil)
		return t
	}
	t.Backends = make([]Backend, len(do.Backends))
	for i := range do.Backends {
		t.Backends[i] = b.connect(&do.Backends[i])
	}
	return t
}

// route is one composed rule, but for which of its matches it stands for.
func (b *tableBuilder) route(c *route.Composed, from []*contribution) Route {
	r := Route{Key: c.Key, Name: c.Name, Matches: c.Matches, Origins: c.Origins, Filters: c.Filters,
		FiltersBy: c.FiltersBy, ActionBy: c.ActionBy, Policies: b.policies(c, from)}
	switch do := c.Do.(type) {
	case *route.Forward:
		r.NoBackend = do.NoBackend
		for i := range do.Backends {
			r.Backends = append(r.Backends, b.backend(&do.Backends[i], do.Broken))
		}
	case route.Itself:
		b.use(b.dest.Destination, nil)
		r.Backends = []Backend{b.own}
	case route.Answer:
		r.Answer = do
		return r
	}
	for _, f := range c.Filters {
		if f.Mirror != nil {
			r.Mirrors = append(r.Mirrors, Mirror{b.backend(&f.Mirror.Backend, 0), f.Mirror.Percent})
		}
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
func (b *tableBuilder) policies(r *route.Composed, from []*contribution) Policies {
	var items []attachedItem
	for _, layer := range [...]merge.LayerName{merge.Route, merge.Rule} {
		for _, c := range contributors(r, from) {
			for _, it := range takes(r, c.route, layer, b.dest.subjects.attached[c.route]) {
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

// contributors are the route objects behind a rule, weakest first, each once, by
// the weakest of what they say about the destination.
func contributors(r *route.Composed, from []*contribution) []*contribution {
	var out []*contribution
	for _, c := range from {
		if !slices.ContainsFunc(out, func(o *contribution) bool { return o.route == c.route }) &&
			slices.ContainsFunc(r.Origins, func(o *api.Origin) bool { return o.Ref == c.route.object.Ref }) {
			out = append(out, c)
		}
	}
	return out
}

// takes lists the items of one layer, of those attached to by, that are about one
// of the rules that by gave to r, weakest first.
func takes(r *route.Composed, by *routeObject, layer merge.LayerName, a *attachments) []*item {
	if layer == merge.Route {
		return a.whole
	}
	if len(a.bySection) == 0 {
		return nil
	}
	var out []*item
	for _, o := range r.Origins {
		if o.Ref != by.object.Ref {
			continue
		}
		for _, name := range by.sections(o) {
			out = append(out, a.bySection[name]...)
		}
	}
	slices.SortFunc(out, byRank)
	return slices.Compact(out)
}
