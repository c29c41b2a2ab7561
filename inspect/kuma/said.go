package kuma

import (
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
)

// rulesOf yields the rules of a table, each once, in the place of its first match.
func rulesOf(t *resolve.Table) iter.Seq[*resolve.Route] {
	return func(yield func(*resolve.Route) bool) {
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
func writtenRulesOf(t *resolve.Table) iter.Seq[*resolve.Route] {
	return func(yield func(*resolve.Route) bool) {
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

// inMergeOrder is who said something, weakest first: whoever comes before another
// about one field comes before it.
func inMergeOrder(fields []merge.Field) []*api.Origin {
	rest := make([][]merge.Said, len(fields))
	for i, f := range fields {
		rest[i] = f.Said
	}
	var out []*api.Origin
	for {
		var next *merge.Said
		for _, said := range rest {
			if len(said) > 0 && (next == nil || said[0].Layer < next.Layer) && !preceded(rest, said[0].Origin) {
				next = &said[0]
			}
		}
		if next == nil {
			return out
		}
		o := next.Origin
		out = append(out, o)
		for i, said := range rest {
			if len(said) > 0 && said[0].Origin.Same(o) {
				rest[i] = said[1:]
			}
		}
	}
}

// preceded reports whether somebody else comes before o about a field.
func preceded(rest [][]merge.Said, o *api.Origin) bool {
	return slices.ContainsFunc(rest, func(said []merge.Said) bool {
		return slices.IndexFunc(said, func(s merge.Said) bool { return s.Origin.Same(o) }) > 0
	})
}

// documents keeps what documents say.
func documents(s merge.Said) bool { return s.Layer != merge.Default }

// itemOrigins are the items behind origins, each once, in order.
func (x *viewBuilder) itemOrigins(origins []*api.Origin) []ItemOrigin {
	out := make([]ItemOrigin, 0, len(origins))
	for i, o := range origins {
		if !slices.ContainsFunc(origins[:i], func(p *api.Origin) bool { return p.Ref == o.Ref && indexOf(p) == indexOf(o) }) {
			out = append(out, ItemOrigin{x.author(o), indexOf(o)})
		}
	}
	return out
}

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
