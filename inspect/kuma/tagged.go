package kuma

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// toItems are the items of to as sets of tags, in the order in which they are
// effective: those for destinations, and what is attached to the routes that the
// dataplane has, once for each rule.
func (x *viewBuilder) toItems(kind *policies.Kind, items []resolve.Item) []tagged {
	out := make([]tagged, 0, len(items))
	for i := range items {
		it := &items[i]
		if it.Spec.Top().IsRoute() || slices.ContainsFunc(it.Spec.To, func(i policies.Item) bool { return i.TargetRef.IsRoute() }) {
			continue
		}
		for _, of := range x.tagSets(it) {
			out = append(out, tagged{tags: of, origin: it.Origin, item: it})
		}
	}
	return inMergeOrderOf(out, x.attached(kind, items)...)
}

// tagSets is what an item of to is about; one by labels is about every service
// that has them.
func (x *viewBuilder) tagSets(it *resolve.Item) []tags {
	if of, ok := tagsOf(&it.Spec.To[it.Index].TargetRef); ok {
		return []tags{of}
	}
	var out []tags
	for d := range it.Destinations() {
		of := newTags(nil, d.Name)
		if !slices.ContainsFunc(out, func(s tags) bool { return slices.Equal(s, of) }) {
			out = append(out, of)
		}
	}
	return out
}

// atRule is what is attached to one rule of a table, weakest first.
type atRule struct{ defaults, overrides []tagged }

// attached is what policies whose top-level targetRef is a route say at the rules
// in the tables of the dataplane.
func (x *viewBuilder) attached(kind *policies.Kind, items []resolve.Item) []atRule {
	// By place: a table that did not change keeps the origins of documents that were read
	// anew since.
	known := make(map[route.RuleRef]*resolve.Item, len(items))
	for i := range items {
		if it := &items[i]; it.Spec.Top().IsRoute() {
			known[route.RuleRefOf(it.Origin)] = it
		}
	}
	var out []atRule
	for _, o := range x.plane.Outbounds {
		if o.Table == nil || len(known) == 0 {
			continue
		}
		for rt := range rulesOf(o.Table) {
			if !x.model.Visit() {
				break
			}
			of := tags{{Key: matchesHash, Value: rt.Key}, {Key: api.TagService, Value: o.Destination.Name}}
			e := rt.Acting().Of(kind.Name)
			at := atRule{attachedAt(e, known, false), attachedAt(e, known, true)}
			for _, list := range [][]tagged{at.defaults, at.overrides} {
				for i := range list {
					list[i].tags = of
				}
			}
			if len(at.defaults)+len(at.overrides) > 0 {
				x.hashes[rt.Key] = rt.Matches
				out = append(out, at)
			}
		}
	}
	return out
}

// attachedAt is what known items say at a rule, by default or over everything, in
// the order that the resolver gave them there.
func attachedAt(e *policies.Effective, known map[route.RuleRef]*resolve.Item, override bool) []tagged {
	if e == nil {
		return nil
	}
	var out []tagged
	for _, o := range inMergeOrder(saidOf(e, func(s merge.Said) bool { return s.Layer > merge.Port && s.Override == override })) {
		it, ok := known[route.RuleRefOf(o)]
		if !ok {
			continue
		}
		leaves := it.Leaves()
		if override {
			leaves = it.Overrides()
		}
		out = append(out, tagged{origin: o, leaves: leaves, item: it})
	}
	return out
}

// tagsOf is a ref as a set of tags; ok is false for kinds that have none, and for
// services that are not named.
func tagsOf(t *api.TargetRef) (of tags, ok bool) {
	switch t.Kind {
	case api.KindMesh:
		return nil, true
	case api.KindMeshSubset:
		return newTags(t.Tags, ""), true
	case api.KindMeshService:
		return newTags(nil, t.Name), t.Name != ""
	case api.KindMeshServiceSubset:
		return newTags(t.Tags, t.Name), t.Name != ""
	}
	return nil, false
}

// fromItems are the items of from that concern one inbound, as sets of tags.
func fromItems(matched *resolve.Matched, in *effective.Inbound) []tagged {
	var out []tagged
	items := matched.From(in)
	for i := range items {
		it := &items[i]
		if of, ok := tagsOf(&it.Spec.From[it.Index].TargetRef); ok {
			out = append(out, tagged{tags: of, origin: it.Origin, item: it})
		}
	}
	return inMergeOrderOf(out)
}
