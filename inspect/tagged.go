package inspect

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// toItems are the items of to as sets of tags, in the order in which they are
// effective. One that is attached to a route stands once for each rule of the
// route.
func (x *ruler) toItems(kind string, matched []*api.Object) []tagged {
	var items []tagged
	for _, it := range x.model.Items(x.plane.Ref, kind) {
		if it.Spec.Top().IsRoute() || slices.ContainsFunc(it.Spec.To, func(i policies.Item) bool { return i.TargetRef.IsRoute() }) {
			continue
		}
		if tags, ok := tagsOf(it.Spec.To[it.Index].TargetRef); ok {
			items = append(items, x.taggedItem(it.Policy, it.Spec, it.Index, tags))
		}
	}
	for _, o := range matched {
		spec := o.Spec.(*policies.Spec)
		if !spec.Top().IsRoute() {
			continue
		}
		for i := range spec.To {
			for _, r := range x.model.TargetRoutes(o.Ref) {
				items = append(items, x.attached(x.taggedItem(o, spec, i, nil), r, spec, spec.To[i].TargetRef)...)
			}
		}
	}
	return items
}

func (x *ruler) taggedItem(o *api.Object, spec *policies.Spec, index int, tags map[string]string) tagged {
	return tagged{tags, &api.Origin{Ref: o.Ref, Field: api.Path("spec.to").Index(index)}, spec.To[index].Leaves()}
}

func (x *ruler) attached(base tagged, r *route.Object, spec *policies.Spec, to api.TargetRef) []tagged {
	var out []tagged
	for _, e := range r.Entries {
		if to.Kind != api.KindMesh && to.Name != e.To.Name {
			continue
		}
		for i := range e.Rules {
			if name := spec.Top().SectionName; name != "" && name != e.Rules[i].Origin.RuleName && name != fmt.Sprint(i) && name != fmt.Sprintf("%d.%d", e.Index, i) {
				continue
			}
			one := base
			one.tags = map[string]string{matchesHash: e.Rules[i].Key}
			if e.To.Kind != api.KindMesh {
				one.tags[api.TagService] = e.To.Name
			}
			x.hashes[e.Rules[i].Key] = e.Rules[i].Matches
			out = append(out, one)
		}
	}
	return out
}

// tagsOf is a ref as a set of tags; ok is false for kinds that have none.
func tagsOf(t api.TargetRef) (tags map[string]string, ok bool) {
	tags = map[string]string{}
	switch t.Kind {
	case api.KindMesh:
	case api.KindMeshSubset, api.KindMeshServiceSubset:
		for k, v := range t.Tags {
			tags[k] = v
		}
	case api.KindMeshService:
	default:
		return nil, false
	}
	if t.Kind == api.KindMeshService || t.Kind == api.KindMeshServiceSubset {
		if t.Name == "" {
			return nil, false
		}
		tags[api.TagService] = t.Name
	}
	return tags, true
}

// fromItems are the items of from that concern one inbound.
func fromItems(matched []*api.Object, in *resolve.Inbound) []tagged {
	var items []tagged
	for _, o := range matched {
		spec := o.Spec.(*policies.Spec)
		if top := spec.Top(); top.Kind != api.KindMesh && top.Kind != api.KindDataplane {
			if tags, ok := tagsOf(top); !ok || !subsetOf(tags, in.Tags) {
				continue
			}
		}
		for i := range spec.From {
			if tags, ok := tagsOf(spec.From[i].TargetRef); ok {
				items = append(items, tagged{tags, &api.Origin{Ref: o.Ref, Field: api.Path("spec.from").Index(i)}, spec.From[i].Leaves()})
			}
		}
	}
	return items
}

func subsetOf(want, have map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
