package kuma

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
)

// rulesOf yields the rules of a table, each once, in the place of its first match.
func rulesOf(t *effective.Table) iter.Seq[*effective.Route] {
	return func(yield func(*effective.Route) bool) {
		seen := map[string]bool{}
		for _, rt := range t.Routes {
			if seen[rt.Key] {
				continue
			}
			seen[rt.Key] = true
			if !yield(rt) {
				return
			}
		}
	}
}

// writtenRulesOf leaves out the implicit last one, which nobody wrote.
func writtenRulesOf(t *effective.Table) iter.Seq[*effective.Route] {
	return func(yield func(*effective.Route) bool) {
		for rt := range rulesOf(t) {
			if len(rt.Origins) > 0 && !yield(rt) {
				return
			}
		}
	}
}

// onlySaid is what holds of e if only what keep keeps is said, and who says it,
// weakest first.
func onlySaid(e *policies.Effective, keep func(merge.Said) bool) (policies.Conf, []*api.Origin) {
	fields := saidOf(e, keep)
	return e.Kind.Schema.Build(e.Kind.New(), fields), inMergeOrder(fields)
}

// saidOf is what is said of e that keep keeps.
func saidOf(e *policies.Effective, keep func(merge.Said) bool) []merge.Field {
	var fields []merge.Field
	for _, f := range e.Fields {
		said := slices.DeleteFunc(slices.Clone(f.Said), func(s merge.Said) bool { return !keep(s) })
		if len(said) > 0 {
			fields = append(fields, merge.Field{Field: f.Field, Said: said})
		}
	}
	return fields
}

// inMergeOrder is who said something, each once, weakest first, by the strongest word of each: whoever
// overrides another about a field comes after it, and among those who share no field the order of the
// fold decides.
func inMergeOrder(fields []merge.Field) []*api.Origin {
	var all []merge.Said
	for _, f := range fields {
		for _, s := range f.Said {
			switch i := slices.IndexFunc(all, func(p merge.Said) bool { return p.Origin.Same(s.Origin) }); {
			case i < 0:
				all = append(all, s)
			case all[i].Order < s.Order:
				all[i] = s
			}
		}
	}
	slices.SortStableFunc(all, func(a, b merge.Said) int { return cmp.Compare(a.Order, b.Order) })
	out := make([]*api.Origin, len(all))
	for i, s := range all {
		out[i] = s.Origin
	}
	return out
}

// documents keeps what documents say.
func documents(s merge.Said) bool { return s.Layer != merge.Default }

// itemOrigins are the items behind origins, each once, where its strongest word stands.
func (x *viewBuilder) itemOrigins(origins []*api.Origin) []ItemOrigin {
	out := make([]ItemOrigin, 0, len(origins))
	for _, o := range lastOf(origins, func(p, o *api.Origin) bool { return p.Ref == o.Ref && indexOf(p) == indexOf(o) }) {
		out = append(out, ItemOrigin{x.author(o), indexOf(o)})
	}
	return out
}

// lastOf keeps of those that are the same the last one, in its place.
func lastOf(origins []*api.Origin, same func(a, b *api.Origin) bool) []*api.Origin {
	out := make([]*api.Origin, 0, len(origins))
	for i, o := range origins {
		if !slices.ContainsFunc(origins[i+1:], func(p *api.Origin) bool { return same(p, o) }) {
			out = append(out, o)
		}
	}
	return out
}

// ofOneObject says that two origins are of one object.
func ofOneObject(a, b *api.Origin) bool { return a.Ref == b.Ref }

// indexOf is the index of the item of an origin: of spec.to[2], or of the entry of
// to that a rule stands in.
func indexOf(o *api.Origin) int {
	if o.To != nil {
		return *o.To
	}
	_, rest, _ := strings.Cut(string(o.Field), "[")
	number, _, _ := strings.Cut(rest, "]")
	n, _ := strconv.Atoi(number) // 0 of what has no index
	return n
}
