package index

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// Rank is an object's, or one of its items', place in the order of spec/kuma.md
// 4.3: a greater rank overrides a lesser one.
type Rank struct {
	written                                        int // key 0: what weft made with the mesh is weakest
	topKind, topForm, origin, role, toKind, toForm int
	name                                           string
	ref                                            api.Ref // only so that no two objects are equal
	Index                                          int
}

// kindOrder is key 1, and for an item's target key 6, of all but routes.
var kindOrder = map[string]int{
	api.KindMesh: 1, api.KindDataplane: 2, api.KindMeshSubset: 3, api.KindMeshGateway: 4, api.KindMeshService: 5, api.KindService: 5,
	api.KindMeshExternalService: 6, api.KindMeshMultiZoneService: 7, api.KindMeshServiceSubset: 8,
}

// kindRank is the place of a ref's kind. Routes of all dialects are as specific
// as MeshHTTPRoute: most of all.
func kindRank(ref api.TargetRef) int {
	if ref.IsRoute() {
		return len(kindOrder) + 1
	}
	return kindOrder[ref.Kind]
}

var (
	originOrder = map[string]int{"global": 1, "": 2, "zone": 3}
	roleOrder   = map[string]int{api.RoleSystem: 1, api.RoleProducer: 2, api.RoleConsumer: 3, api.RoleWorkloadOwner: 4}
)

func rankOf(o *api.Object, top api.TargetRef, role string) Rank {
	r := Rank{
		written: Btoi(!o.IsDefault()), topKind: kindRank(top), origin: originOrder[originOf(o)],
		role: roleOrder[role], name: o.DisplayName(), ref: o.Ref,
	}
	if top.Kind == api.KindDataplane {
		r.topForm = Btoi(top.Name != "")*2 + Btoi(top.SectionName != "")
	}
	return r
}

// originOf is where an object was written: by its label, but in the namespace of a team, where the label would
// lift it above what other teams say of their own calls. There it is always the zone.
func originOf(o *api.Object) string {
	if o.Namespace != "" && !o.Home().System {
		return "zone"
	}
	return o.Labels[api.LabelOrigin]
}

// Of is the rank of item index, which targets to.
func (r Rank) Of(to api.TargetRef, index int) Rank {
	r.toKind, r.toForm, r.Index = kindRank(to), Btoi(to.SectionName != ""), index
	return r
}

// order is the keys of spec/kuma.md 4.3, the first one first.
var order = [...]struct {
	key     merge.Criterion
	compare func(a, b *Rank) int
}{
	{merge.ByDefault, func(a, b *Rank) int { return a.written - b.written }},
	{merge.ByTopKind, func(a, b *Rank) int { return a.topKind - b.topKind }},
	{merge.ByTopForm, func(a, b *Rank) int { return a.topForm - b.topForm }},
	{merge.ByOrigin, func(a, b *Rank) int { return a.origin - b.origin }},
	{merge.ByRole, func(a, b *Rank) int { return a.role - b.role }},
	{merge.ByToKind, func(a, b *Rank) int { return a.toKind - b.toKind }},
	{merge.ByToForm, func(a, b *Rank) int { return a.toForm - b.toForm }},
	// Of aaa and bbb, aaa comes last and wins.
	{merge.ByName, func(a, b *Rank) int { return cmp.Or(cmp.Compare(b.name, a.name), b.ref.Compare(a.ref)) }},
	{merge.ByIndex, func(a, b *Rank) int { return a.Index - b.Index }},
}

// Decide is negative where b overrides a, and says which key decided. It is a
// total order of items.
func (a *Rank) Decide(b *Rank) (int, merge.Criterion) {
	for i := range order {
		if c := order[i].compare(a, b); c != 0 {
			return c, order[i].key
		}
	}
	return 0, merge.NotLost
}

// Compare is negative where b overrides a.
func (a Rank) Compare(b Rank) int {
	c, _ := a.Decide(&b)
	return c
}

// Below is why an item that attaches to no route gives way: to one that
// attaches to a route by its layer.
func (it *Item) Below(stronger merge.Rank) merge.Criterion {
	switch o := stronger.(type) {
	case *Item:
		_, key := it.Rank.Decide(&o.Rank)
		return key
	case *Override:
		return merge.ByOverride
	}
	return merge.ByLayer
}

// Below is why an attached item gives way: of two routes that became one, the
// order of the routes decides first (spec/kuma.md 4.7).
func (a *AttachedItem) Below(stronger merge.Rank) merge.Criterion {
	if _, ok := stronger.(*Override); ok {
		return merge.ByOverride
	}
	o, ok := stronger.(*AttachedItem)
	if !ok || a.Layer != o.Layer {
		return merge.ByLayer
	}
	if a.Layer == merge.Include && a.From.Depth != o.From.Depth {
		return merge.ByLayer
	}
	if a.From.Route != o.From.Route {
		_, key := a.From.Rank.Decide(&o.From.Rank)
		return key
	}
	_, key := a.Item.Rank.Decide(&o.Item.Rank)
	return key
}

// Btoi is 1 for true, which sorts after false.
func Btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// localOf is how the home of an object narrows its selector (spec/kuma.md 4.1).
func localOf(o *api.Object, role string) matcher.Local {
	var l matcher.Local
	if o.Labels[api.LabelOrigin] == "zone" && role != api.RoleProducer {
		l.Zone = o.Labels[api.LabelZone]
	}
	if role == api.RoleConsumer || role == api.RoleWorkloadOwner {
		l.Namespace = o.HomeNamespace()
	}
	return l
}

// ByRank orders items, the weakest first.
func ByRank(a, b *Item) int {
	c, _ := a.Rank.Decide(&b.Rank)
	return c
}

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
func (a *Override) Decide(b *Override) (int, merge.Criterion) {
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
func (a *Override) Below(stronger merge.Rank) merge.Criterion {
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

// FoldRules is Fold of rules that some callers meet: those of a kind whose rules add up hold together.
func (l Layers) FoldRules(kinds []*policies.Kind) effective.Policies {
	var out effective.Policies
	for i, k := range kinds {
		resolve := k.Resolve
		if k.RulesAddUp {
			resolve = k.AddUp
		}
		if e := resolve(l[i]); e != nil {
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
