package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// stack is a list of attached items and what the policies come to under it.
type stack struct {
	items    []attachedItem
	policies effective.Policies
}

// attachedItem is an item at one of the routes to which it attaches.
type attachedItem struct {
	item  *item
	layer merge.LayerName
	from  *contribution // the weakest of that route, which gives it its place
}

// under is what holds for every rule of the table: what targets no route, and over
// it what is said for the frontend as a whole.
func (b *tableBuilder) under(whole []route.Inline) {
	b.base, b.bare = b.class.base, b.outbound
	if len(whole) == 0 {
		return
	}
	b.base = slices.Clone(b.base)
	for i := range whole {
		kind, layer := b.inline(&whole[i], merge.Host)
		b.base.add(kind, layer)
	}
	b.bare = b.base.overridden(b.class.overrides).fold(b.kinds)
}

// policies lays over that what is attached to the objects that include the rule,
// what the rule says itself, and what is attached to the contributing routes: the
// routes in their order, then within each the order of spec/kuma.md 4.3 (4.7); what
// names one rule comes after all that names a whole route.
func (b *tableBuilder) policies(r *route.Composed, from []*contribution) effective.Policies {
	if r.Bare {
		return nil
	}
	items := b.attachedItems(r, from)
	if len(items) == 0 && len(r.Inline) == 0 {
		return b.bare
	}
	if len(r.Inline) > 0 {
		return b.stacked(items, r.Inline)
	}
	last := items[len(items)-1].item
	for _, s := range b.stacks[last] {
		if slices.Equal(s.items, items) {
			return s.policies
		}
	}
	s := stack{items, b.stacked(items, nil)}
	b.stacks[last] = append(b.stacks[last], s)
	return s.policies
}

// stacked is what items, weakest first, and fields of the rule come to.
func (b *tableBuilder) stacked(items []attachedItem, own []route.Inline) effective.Policies {
	all := slices.Clone(b.base)
	included := 0
	for included < len(items) && items[included].layer == merge.Include {
		included++
	}
	for i := range items[:included] {
		all.add(items[i].item.policy.kind, items[i].byDefault())
	}
	for i := range own {
		kind, layer := b.inline(&own[i], merge.Inline)
		all.add(kind, layer)
	}
	for i := range items[included:] {
		all.add(items[included+i].item.policy.kind, items[included+i].byDefault())
	}
	return all.overridden(b.class.overrides, overridesOf(items)).fold(b.kinds)
}

// attachedItems are those that the class has, weakest first.
func (b *tableBuilder) attachedItems(r *route.Composed, from []*contribution) []attachedItem {
	var items []attachedItem
	said := b.class.subjects
	for depth, o := range r.Via {
		if x := said.speaker(o.Ref); x != nil {
			items = b.class.holds(items, said.attached[x].whole, merge.Include, &contribution{route: x, rank: x.rank, depth: depth})
		}
	}
	by := said.contributors(r, from)
	for _, c := range by {
		items = b.class.holds(items, said.attached[c.route].whole, merge.Route, c)
	}
	for _, c := range by {
		items = b.class.holds(items, takes(r, c.route, said.attached[c.route]), merge.Rule, c)
	}
	return items
}

// holds adds those of list that are for the class.
func (c *class) holds(items []attachedItem, list []*item, layer merge.LayerName, from *contribution) []attachedItem {
	for _, it := range list {
		if c.has[it.policy.selector.Key] {
			items = append(items, attachedItem{it, layer, from})
		}
	}
	return items
}

// speaker is the route object of that ref, if its rules may be about the destination.
func (s *subjects) speaker(ref api.Ref) *routeObject {
	if r := s.read[ref]; r != nil {
		return r
	}
	for _, c := range s.contributions {
		if c.route.object.Ref == ref {
			return c.route
		}
	}
	return nil
}

// contributors are the route objects behind a rule, weakest first, each once, by
// the weakest of what they say about the destination; those that others include last.
func (s *subjects) contributors(r *route.Composed, from []*contribution) []*contribution {
	var out []*contribution
	for _, c := range from {
		if !speaks(out, c.route) && slices.ContainsFunc(r.Origins, func(o *api.Origin) bool { return o.Ref == c.route.object.Ref }) {
			out = append(out, c)
		}
	}
	for _, o := range r.Origins {
		if x := s.read[o.Ref]; x != nil && !speaks(out, x) {
			out = append(out, &contribution{route: x, rank: x.rank})
		}
	}
	return out
}

func speaks(list []*contribution, x *routeObject) bool {
	return slices.ContainsFunc(list, func(o *contribution) bool { return o.route == x })
}

// takes lists the items attached to a rule of by, that by gave to r, weakest first.
func takes(r *route.Composed, by *routeObject, a *attachments) []*item {
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

// inlinePlace is where the fields of a route object itself stand: those of the
// frontend above what targets no route, those of a rule between what is attached
// to the objects that include it and what is attached to its routes.
type inlinePlace struct{}

// Below is why they give way.
func (inlinePlace) Below(stronger merge.Place) merge.Key {
	if _, ok := stronger.(*override); ok {
		return merge.ByOverride
	}
	return merge.ByLayer
}

// inline is a policy's fields that a route object says itself. A field that is not
// there is a bug in the dialect, and panics.
func (b *tableBuilder) inline(x *route.Inline, name merge.LayerName) (kind int, layer merge.Layer) {
	kind, k := b.kind(x.Kind)
	return kind, merge.Layer{Name: name, Origin: x.Origin, Leaves: k.Schema.Read(k.Schema.Set(k.New(), x.Fields)), Place: inlinePlace{}}
}
