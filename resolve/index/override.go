package index

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// Override is what an item says over everything nearer to the route: the
// platform's word (docs/concepts.md). It lies above every default.
type Override struct {
	Item  *Item
	Layer merge.LayerName
	from  *Contribution // of the route to which it attaches; nil where it targets none
}

// ByDefault is what an item that attaches to no route says by default.
func (it *Item) ByDefault() merge.Layer {
	return merge.Layer{Name: it.Layer, Origin: it.Origin, Leaves: it.Leaves, Place: it}
}

// ByDefault is what an attached item says by default.
func (a *AttachedItem) ByDefault() merge.Layer {
	return merge.Layer{Name: a.Layer, Origin: a.Item.Origin, Leaves: a.Item.Leaves, Place: a}
}

// Decide is negative where b beats a, and says which key decided: roles first,
// the owner of a workload being the weakest; then how far from the route the item
// is, what targets no route being one layer; then the order of the routes. Among
// what attaches to one thing the order of defaults is reversed, but for names and
// positions.
func (a *Override) Decide(b *Override) (int, merge.Key) {
	x, y := &a.Item.Rank, &b.Item.Rank
	if x.role != y.role {
		return y.role - x.role, merge.ByRole
	}
	if c := cmp.Compare(max(b.Layer, merge.Port), max(a.Layer, merge.Port)); c != 0 {
		return c, merge.ByLayer
	}
	if a.Layer == merge.Include && b.Layer == merge.Include && a.from.Depth != b.from.Depth {
		return b.from.Depth - a.from.Depth, merge.ByLayer // the outermost is the strongest
	}
	if a.from != nil && b.from != nil && a.from.Route != b.from.Route {
		return a.from.Rank.Decide(&b.from.Rank)
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
func (a *Override) Below(stronger merge.Place) merge.Key {
	o, ok := stronger.(*Override)
	if !ok {
		return merge.ByOverride
	}
	_, key := a.Decide(o)
	return key
}

// OverridesOf are those of items at the routes to which they attach.
func OverridesOf(items []AttachedItem) []*Override {
	var out []*Override
	for _, a := range items {
		if len(a.Item.Overrides) > 0 {
			out = append(out, &Override{a.Item, a.Layer, a.From})
		}
	}
	return out
}

// OwnOverrides are those of items that attach to no route.
func OwnOverrides(items []*Item) []*Override {
	var out []*Override
	for _, it := range items {
		if len(it.Overrides) > 0 {
			out = append(out, &Override{Item: it, Layer: it.Layer})
		}
	}
	return out
}

// Add puts a layer over those of a kind, which may be shared.
func (l Layers) Add(kind int, x merge.Layer) {
	l[kind] = append(l[kind][:len(l[kind]):len(l[kind])], x)
}

// Overridden is l with all overrides over it, each in its place.
func (l Layers) Overridden(overrides ...[]*Override) Layers {
	all := slices.Concat(overrides...)
	if len(all) == 0 {
		return l
	}
	slices.SortStableFunc(all, func(a, b *Override) int {
		c, _ := a.Decide(b)
		return c
	})
	out := slices.Clone(l)
	for _, o := range all {
		out.Add(o.Item.Policy.Kind, merge.Layer{Name: o.Layer, Override: true, Origin: o.Item.Origin, Leaves: o.Item.Overrides, Place: o})
	}
	return out
}

// AttachedItem is an item at one of the routes to which it attaches.
type AttachedItem struct {
	Item  *Item
	Layer merge.LayerName
	From  *Contribution // the weakest of that route, which gives it its place
}

// Layers is what each kind of policy says, weakest first; the index is the
// kind's number.
type Layers [][]merge.Layer

// Fold resolves each kind.
func (l Layers) Fold(kinds []*policies.Kind) effective.Policies {
	var out effective.Policies
	for i, k := range kinds {
		if e := k.Resolve(l[i]); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// Only keeps the leaves of one scope.
func (l Layers) Only(scope policies.Scope, kinds []*policies.Kind) Layers {
	out := make(Layers, len(l))
	for i, list := range l {
		for _, x := range list {
			kept := merge.Layer{Name: x.Name, Override: x.Override, Origin: x.Origin, Place: x.Place}
			for _, leaf := range x.Leaves {
				if kinds[i].Schema.Leaves[leaf.Field].Scope == scope {
					kept.Leaves = append(kept.Leaves, leaf)
				}
			}
			if len(kept.Leaves) > 0 {
				out[i] = append(out[i], kept)
			}
		}
	}
	return out
}
