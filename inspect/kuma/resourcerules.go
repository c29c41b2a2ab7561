package kuma

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// resourceKey is one real resource, or a section of one, that some item names
// (spec/kuma.md 4.6).
type resourceKey struct {
	ref     api.Ref
	section string
}

// named is one of them, with the items that name it.
type named struct {
	resourceKey
	items []int
}

// resourceRules is what holds for each real resource that one of the items names.
func (x *viewBuilder) resourceRules(kind *policies.Kind, items []resolve.Item) []ResourceRule {
	mesh := resourceKey{ref: api.Ref{Kind: api.KindMesh, Name: x.plane.Ref.Mesh}}
	at := make(map[resourceKey]int, len(items)) // in all
	var all []named
	var keys []resourceKey
	for i := range items {
		if items[i].Spec.Top().IsRoute() {
			continue
		}
		keys = x.resourceKeys(keys[:0], &items[i], mesh)
		for _, key := range keys {
			n, ok := at[key]
			if !ok {
				n = len(all)
				at[key], all = n, append(all, named{resourceKey: key})
			}
			all[n].items = append(all[n].items, i)
		}
	}
	var everywhere []int
	if n, ok := at[mesh]; ok {
		everywhere = all[n].items
	}
	out := make([]ResourceRule, 0, len(all))
	for i := range all {
		if !x.model.Visit() {
			break
		}
		about := slices.Concat(all[i].items, everywhere)
		if n, ok := at[resourceKey{ref: all[i].ref}]; ok && all[i].section != "" {
			about = append(about, all[n].items...)
		}
		slices.Sort(about)
		out = append(out, x.resourceRule(kind, items, all[i].resourceKey, slices.Compact(about)))
	}
	slices.SortStableFunc(out, func(a, b ResourceRule) int {
		return cmp.Or(cmp.Compare(a.ResourceMeta.Name, b.ResourceMeta.Name), cmp.Compare(a.ResourceMeta.Type, b.ResourceMeta.Type), cmp.Compare(a.ResourceSectionName, b.ResourceSectionName))
	})
	return out
}

// resourceRule is what those of the items about a say there, weakest first: those for the mesh about
// everything, those for a service about itself and its sections.
func (x *viewBuilder) resourceRule(kind *policies.Kind, items []resolve.Item, a resourceKey, about []int) ResourceRule {
	list := make([]tagged, 0, len(about))
	for _, i := range about {
		list = append(list, tagged{origin: items[i].Origin, item: &items[i]})
	}
	slices.SortStableFunc(list, func(a, b tagged) int { return layerOf(a.item) - layerOf(b.item) })
	conf, origins := folded(kind, inMergeOrderOf(list))
	return ResourceRule{ResourceMeta: x.meta(a.ref), ResourceSectionName: a.section, Origin: x.itemOrigins(origins), Conf: []any{conf}}
}

// folded is what items come to, weakest first, and who says it.
func folded(kind *policies.Kind, said []tagged) (policies.Conf, []*api.Origin) {
	layers, origins := make([]merge.Layer, 0, len(said)), make([]*api.Origin, 0, len(said))
	for _, it := range said {
		layers, origins = append(layers, merge.Layer{Leaves: it.leaves}), append(origins, it.origin)
	}
	return kind.Schema.Build(kind.New(), merge.Fold(layers)), origins
}

// layerOf is how near to a route an item is: what targets none of them, one, or a
// rule of one (spec/kuma.md 4.9).
func layerOf(it *resolve.Item) int {
	switch to := &it.Spec.To[it.Index].TargetRef; {
	case !to.IsRoute():
		return 0
	case to.SectionName == "":
		return 1
	}
	return 2
}

// resourceKeys appends the real resources that an item names, each once; a kuma.io/service is
// none.
func (x *viewBuilder) resourceKeys(out []resourceKey, it *resolve.Item, mesh resourceKey) []resourceKey {
	to := &it.Spec.To[it.Index].TargetRef
	if to.Kind == api.KindMesh {
		return append(out, mesh)
	}
	for _, r := range it.Routes() {
		out = append(out, resourceKey{r.Object.Ref, to.SectionName})
	}
	for d := range it.Destinations() {
		if d.Ref.Name == "" {
			continue
		}
		a := resourceKey{ref: d.Ref}
		if to.SectionName != "" {
			a.section = d.PortName
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}
