package index

import (
	"cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
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
	key     merge.Key
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
func (a *Rank) Decide(b *Rank) (int, merge.Key) {
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
func (it *Item) Below(stronger merge.Place) merge.Key {
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
func (a *AttachedItem) Below(stronger merge.Place) merge.Key {
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
