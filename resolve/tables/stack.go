package tables

import (
	"slices"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// stack is a list of attached items and what the policies come to under it.
type stack struct {
	items    []index.AttachedItem
	policies effective.Policies
}

// under is what holds for every rule of the table: what targets no route, and over
// it what is said for the frontend as a whole.
func (b *tableBuilder) under(whole []route.Inline) {
	b.base, b.baseline = b.class.base, b.outbound
	if len(whole) == 0 {
		return
	}
	b.base = slices.Clone(b.base)
	for i := range whole {
		kind, layer := b.inline(&whole[i], merge.Host)
		b.base.Add(kind, layer)
	}
	b.baseline = b.base.Overridden(b.class.overrides).Fold(b.Kinds)
}

// policies lays over that what is attached to the objects that include the rule,
// what the rule says itself, and what is attached to the contributing routes and their rules.
func (b *tableBuilder) policies(r *route.MergedRule, from []*index.Contribution) effective.Policies {
	if r.NoPolicies {
		return nil
	}
	items := b.attachedItems(r, from)
	if len(items) == 0 && len(r.Inline) == 0 {
		return b.baseline
	}
	if len(r.Inline) > 0 {
		return b.stacked(items, r.Inline)
	}
	last := items[len(items)-1].Item
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
func (b *tableBuilder) stacked(items []index.AttachedItem, own []route.Inline) effective.Policies {
	all := slices.Clone(b.base)
	included := 0
	for included < len(items) && items[included].Layer == merge.Include {
		included++
	}
	for i := range items[:included] {
		all.Add(items[i].Item.Policy.Kind, items[i].ByDefault())
	}
	for i := range own {
		kind, layer := b.inline(&own[i], merge.Inline)
		all.Add(kind, layer)
	}
	for i := range items[included:] {
		all.Add(items[included+i].Item.Policy.Kind, items[included+i].ByDefault())
	}
	return all.Overridden(b.class.overrides, index.OverridesOf(items)).Fold(b.Kinds)
}

// attachedItems are those that the class has, weakest first.
func (b *tableBuilder) attachedItems(r *route.MergedRule, from []*index.Contribution) []index.AttachedItem {
	var items []index.AttachedItem
	for layer, by := range b.class.subjects.Standing(r, from) {
		on := b.class.subjects.Attached[by.Route]
		list := on.Whole
		if layer == merge.Rule {
			list = on.To(r, by.Route)
		}
		for _, it := range list {
			if b.class.has[it.Policy.Selector.Key] {
				items = append(items, index.AttachedItem{Item: it, Layer: layer, From: by})
			}
		}
	}
	return items
}

// inlinePlace is where the fields of a route object itself stand: those of the
// frontend above what targets no route, those of a rule between what is attached
// to the objects that include it and what is attached to its routes.
type inlinePlace struct{}

// Below is why they give way.
func (inlinePlace) Below(stronger merge.Rank) merge.Criterion {
	if _, ok := stronger.(*index.Override); ok {
		return merge.ByOverride
	}
	return merge.ByLayer
}

// inline is a policy's fields that a route object says itself. A field that is not
// there is a bug in package route, and panics.
func (b *tableBuilder) inline(x *route.Inline, name merge.LayerName) (kind int, layer merge.Layer) {
	kind, k := b.kind(x.Policy.Kind())
	return kind, merge.Layer{Name: name, Origin: x.Origin, Leaves: k.Schema.Read(k.Schema.Set(k.New(), x.Policy.Fields())), Place: inlinePlace{}}
}
