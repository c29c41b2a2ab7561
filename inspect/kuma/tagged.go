package kuma

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// toItems are the items of to as sets of tags, in the order in which they are
// effective: those for destinations, then what is attached to the routes that the
// dataplane has, one for each rule.
func (x *ruler) toItems(kind *policies.Kind, matched []*api.Object, items []resolve.Item) []tagged {
	var out []tagged
	for _, it := range items {
		if it.Spec.Top().IsRoute() || slices.ContainsFunc(it.Spec.To, func(i policies.Item) bool { return i.TargetRef.IsRoute() }) {
			continue
		}
		for _, tags := range x.tagSets(it) {
			out = append(out, tagged{tags: tags, origin: it.Origin, item: it})
		}
	}
	return spoken(append(out, x.attachedItems(kind, matched, items)...))
}

// tagSets is what an item of to is about; one by labels is about every service
// that has them.
func (x *ruler) tagSets(it resolve.Item) []map[string]string {
	to := it.Spec.To[it.Index].TargetRef
	if tags, ok := tagsOf(to); ok {
		return []map[string]string{tags}
	}
	var out []map[string]string
	for d := range it.Destinations() {
		tags := map[string]string{api.TagService: d.Name}
		if !slices.ContainsFunc(out, func(s map[string]string) bool { return maps.Equal(s, tags) }) {
			out = append(out, tags)
		}
	}
	return out
}

// attachedItems are those of policies whose top-level targetRef is a route, as
// they hold for the rules in the tables of the dataplane, weakest policy first.
func (x *ruler) attachedItems(kind *policies.Kind, matched []*api.Object, items []resolve.Item) []tagged {
	place := make(map[api.Ref]int, len(matched))
	for i, o := range matched {
		place[o.Ref] = i
	}
	type entry struct {
		ref   api.Ref
		field api.Path
	}
	known := make(map[entry]resolve.Item, len(items))
	for _, it := range items {
		if it.Spec.Top().IsRoute() {
			known[entry{it.Origin.Ref, it.Origin.Field}] = it
		}
	}
	byPolicy := make([][]tagged, len(matched))
	for _, o := range x.plane.Outbounds {
		if o.Table == nil {
			continue
		}
		for rt := range rulesOf(o.Table) {
			if !x.model.Visit() {
				break
			}
			for _, said := range attachedAt(rt.Policies.Of(kind.Name)) {
				it, ok := known[entry{said.Ref, said.Field}]
				if !ok {
					continue
				}
				tags := map[string]string{matchesHash: rt.Key, api.TagService: o.Destination.Name}
				x.hashes[rt.Key] = rt.Matches
				byPolicy[place[said.Ref]] = append(byPolicy[place[said.Ref]], tagged{tags: tags, origin: said, item: it})
			}
		}
	}
	return slices.Concat(byPolicy...)
}

// attachedAt are the items that are attached to a rule, each once.
func attachedAt(e *policies.Effective) []*api.Origin {
	var out []*api.Origin
	if e == nil {
		return nil
	}
	for _, f := range e.Fields {
		for _, s := range f.Said {
			if s.Layer >= merge.Route && !slices.ContainsFunc(out, s.Origin.Same) {
				out = append(out, s.Origin)
			}
		}
	}
	return out
}

// tagsOf is a ref as a set of tags; ok is false for kinds that have none, and for
// services that are not named.
func tagsOf(t api.TargetRef) (tags map[string]string, ok bool) {
	tags = map[string]string{}
	switch t.Kind {
	case api.KindMesh:
	case api.KindMeshSubset, api.KindMeshServiceSubset:
		maps.Copy(tags, t.Tags)
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

// fromItems are the items of from that concern one inbound, as sets of tags.
func fromItems(matched *resolve.Matched, in *resolve.Inbound) []tagged {
	var out []tagged
	for _, it := range matched.From(in) {
		from := &it.Spec.From[it.Index]
		if tags, ok := tagsOf(from.TargetRef); ok {
			out = append(out, tagged{tags: tags, origin: it.Origin, item: it})
		}
	}
	return spoken(out)
}
