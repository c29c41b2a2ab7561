package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/merge"
)

// override is what an item says over everything nearer to the route: the
// platform's word (docs/concepts.md). It lies above every default.
type override struct {
	item  *item
	layer merge.LayerName
	from  *contribution // of the route to which it attaches; nil where it targets none
}

// byDefault is what an item that attaches to no route says by default.
func (it *item) byDefault() merge.Layer {
	return merge.Layer{Name: it.layer, Origin: it.origin, Leaves: it.leaves, Place: it}
}

// byDefault is what an attached item says by default.
func (a *attachedItem) byDefault() merge.Layer {
	return merge.Layer{Name: a.layer, Origin: a.item.origin, Leaves: a.item.leaves, Place: a}
}

// decide is negative where b beats a, and says which key decided: roles first,
// the owner of a workload being the weakest; then how far from the route the item
// is, what targets no route being one layer; then the order of the routes. Among
// what attaches to one thing the order of defaults is reversed, but for names and
// positions.
func (a *override) decide(b *override) (int, merge.Key) {
	x, y := &a.item.rank, &b.item.rank
	if x.role != y.role {
		return y.role - x.role, merge.ByRole
	}
	if c := cmp.Compare(max(b.layer, merge.Port), max(a.layer, merge.Port)); c != 0 {
		return c, merge.ByLayer
	}
	if a.layer == merge.Include && b.layer == merge.Include && a.from.depth != b.from.depth {
		return b.from.depth - a.from.depth, merge.ByLayer // the outermost is the strongest
	}
	if a.from != nil && b.from != nil && a.from.route != b.from.route {
		return a.from.rank.decide(&b.from.rank)
	}
	for i := range order {
		c := order[i].compare(x, y)
		if order[i].key != merge.ByName && order[i].key != merge.ByIndex {
			c = -c
		}
		if c != 0 {
			return c, order[i].key
		}
	}
	return 0, merge.NotLost
}

// Below is why an override gives way to a stronger one.
func (a *override) Below(stronger merge.Place) merge.Key {
	o, ok := stronger.(*override)
	if !ok {
		return merge.ByOverride
	}
	_, key := a.decide(o)
	return key
}

// overridesOf are those of items at the routes to which they attach.
func overridesOf(items []attachedItem) []*override {
	var out []*override
	for _, a := range items {
		if len(a.item.overrides) > 0 {
			out = append(out, &override{a.item, a.layer, a.from})
		}
	}
	return out
}

// ownOverrides are those of items that attach to no route.
func ownOverrides(items []*item) []*override {
	var out []*override
	for _, it := range items {
		if len(it.overrides) > 0 {
			out = append(out, &override{item: it, layer: it.layer})
		}
	}
	return out
}

// add puts a layer over those of a kind, which may be shared.
func (l layers) add(kind int, x merge.Layer) {
	l[kind] = append(l[kind][:len(l[kind]):len(l[kind])], x)
}

// overridden is l with all overrides over it, each in its place.
func (l layers) overridden(overrides ...[]*override) layers {
	all := slices.Concat(overrides...)
	if len(all) == 0 {
		return l
	}
	slices.SortStableFunc(all, func(a, b *override) int {
		c, _ := a.decide(b)
		return c
	})
	out := slices.Clone(l)
	for _, o := range all {
		out.add(o.item.policy.kind, merge.Layer{Name: o.layer, Override: true, Origin: o.item.origin, Leaves: o.item.overrides, Place: o})
	}
	return out
}
