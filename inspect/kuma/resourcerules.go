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

// resourceRules is what holds for each real resource that one of the items names.
func (x *viewBuilder) resourceRules(kind *policies.Kind, items []resolve.Item) []ResourceRule {
	mesh := resourceKey{ref: api.Ref{Kind: api.KindMesh, Name: x.plane.Ref.Mesh}}
	about := map[resourceKey][]int{} // the items that name it
	var resourceKeys []resourceKey
	for i := range items {
		if items[i].Spec.Top().IsRoute() {
			continue
		}
		for _, a := range x.resourceKeys(&items[i], mesh) {
			if about[a] == nil {
				resourceKeys = append(resourceKeys, a)
			}
			about[a] = append(about[a], i)
		}
	}
	var out []ResourceRule
	for _, a := range resourceKeys {
		if !x.model.Visit() {
			break
		}
		out = append(out, x.resourceRule(kind, items, a, relevant(about, a, mesh)))
	}
	slices.SortStableFunc(out, func(a, b ResourceRule) int {
		return cmp.Or(cmp.Compare(a.ResourceMeta.Name, b.ResourceMeta.Name), cmp.Compare(a.ResourceMeta.Type, b.ResourceMeta.Type), cmp.Compare(a.ResourceSectionName, b.ResourceSectionName))
	})
	return out
}

// relevant are the items that say something about a, weakest first: those for the
// mesh about everything, those for a service about itself and its sections.
func relevant(about map[resourceKey][]int, a, mesh resourceKey) []int {
	out := slices.Clone(about[a])
	if a.section != "" {
		out = append(out, about[resourceKey{ref: a.ref}]...)
	}
	if a != mesh {
		out = append(out, about[mesh]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (x *viewBuilder) resourceRule(kind *policies.Kind, items []resolve.Item, a resourceKey, about []int) ResourceRule {
	r := ResourceRule{ResourceMeta: x.meta(a.ref), ResourceSectionName: a.section, Origin: []ItemOrigin{}}
	var list []tagged
	for _, i := range about {
		list = append(list, tagged{origin: items[i].Origin, item: &items[i]})
	}
	slices.SortStableFunc(list, func(a, b tagged) int { return layerOf(a.item) - layerOf(b.item) })
	var layers []merge.Layer
	var origins []*api.Origin
	for _, it := range inMergeOrderOf(list) {
		layers, origins = append(layers, merge.Layer{Leaves: it.leaves}), append(origins, it.origin)
	}
	r.Origin = x.itemOrigins(origins)
	r.Conf = []any{kind.Schema.Build(kind.New(), merge.Fold(layers))}
	return r
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

// resourceKeys are the real resources that an item names, each once; a kuma.io/service is
// none.
func (x *viewBuilder) resourceKeys(it *resolve.Item, mesh resourceKey) []resourceKey {
	to := &it.Spec.To[it.Index].TargetRef
	if to.Kind == api.KindMesh {
		return []resourceKey{mesh}
	}
	var out []resourceKey
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
