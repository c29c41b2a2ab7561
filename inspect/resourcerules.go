package inspect

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// aim is one real resource, or a section of one, that some item names
// (spec/kuma.md 4.6).
type aim struct {
	ref     api.Ref
	section string
}

// resourceRules is what holds for each real resource that an item of to names.
func (x *ruler) resourceRules(kind *policies.Kind) []ResourceRule {
	items := x.model.Items(x.plane.Ref, kind.Name)
	items = slices.DeleteFunc(items, func(it resolve.Item) bool { return it.Spec.Top().IsRoute() })
	var aims []aim
	for _, it := range items {
		for _, a := range x.aims(it) {
			if !slices.Contains(aims, a) {
				aims = append(aims, a)
			}
		}
	}
	var out []ResourceRule
	for _, a := range aims {
		r := ResourceRule{ResourceMeta: x.meta(a.ref), ResourceSectionName: a.section, Origin: []ItemOrigin{}}
		var layers []merge.Layer
		for _, it := range items {
			if !x.relevant(it, a) {
				continue
			}
			layers = append(layers, merge.Layer{Leaves: it.Spec.To[it.Index].Leaves()})
			r.Origin = append(r.Origin, ItemOrigin{x.meta(it.Policy.Ref), it.Index})
		}
		r.Conf = []any{kind.Schema.Build(kind.New(), merge.Fold(layers))}
		out = append(out, r)
	}
	slices.SortStableFunc(out, func(a, b ResourceRule) int {
		return cmp.Or(cmp.Compare(a.ResourceMeta.Name, b.ResourceMeta.Name), cmp.Compare(a.ResourceMeta.Type, b.ResourceMeta.Type), cmp.Compare(a.ResourceSectionName, b.ResourceSectionName))
	})
	return out
}

// aims are the real resources that an item names; a kuma.io/service is none.
func (x *ruler) aims(it resolve.Item) []aim {
	to := it.Spec.To[it.Index].TargetRef
	home := it.Policy.HomeNamespace()
	if to.Kind == api.KindMesh {
		return []aim{{ref: api.Ref{Kind: api.KindMesh, Name: x.plane.Ref.Mesh}}}
	}
	var out []aim
	if to.IsRoute() {
		for o := range x.model.Snapshot().Of(to.Kind, x.plane.Ref.Mesh) {
			if matcher.Route(to, home, o) {
				out = append(out, aim{ref: o.Ref})
			}
		}
		return out
	}
	for d := range x.model.Destinations(x.plane.Ref.Mesh) {
		if d.Ref.Name == "" || !matcher.Destination(to, home, factsOf(d)) {
			continue
		}
		a := aim{ref: d.Ref}
		if to.SectionName != "" {
			a.section = d.PortName
		}
		if !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func factsOf(d *resolve.Destination) *matcher.Service {
	return &matcher.Service{Kind: d.Kind, Name: d.Name, Object: d.Ref.Name, Namespace: d.Namespace, Labels: d.Labels, Port: d.Port, PortName: d.PortName}
}

// relevant reports whether an item says something about a: Mesh about
// everything, a service about itself and its sections.
func (x *ruler) relevant(it resolve.Item, a aim) bool {
	for _, b := range x.aims(it) {
		if b.ref.Kind == api.KindMesh || b == a || b.ref == a.ref && b.section == "" {
			return true
		}
	}
	return false
}
