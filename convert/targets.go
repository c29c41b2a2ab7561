package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
)

// tellPolicies names the policies among the objects that target a route which is written
// in another language: they target the old one still.
func (c *converter) tellPolicies(works []*work) {
	for _, o := range c.objects {
		var spec any
		if typ, ok := c.Catalog.Find(o.Kind); !ok || !typ.Policy || typ.Route || json.Unmarshal([]byte(text(o.Spec)), &spec) != nil {
			continue
		}
		targets(spec, "spec", func(at api.Path, ref api.TargetRef) {
			if names := writtenFor(works, ref, o.Home()); len(names) > 0 {
				c.note(&api.Origin{Ref: o.Ref}, api.Warning, "PolicyTargetsSource", at, "it targets %s, which is %s %s now, and does not act on that: write the new kind, name and section", wordsOf(ref), c.Kind, strings.Join(names, ", "))
			}
		})
	}
}

// writtenFor are the names of what is written for the routes that a ref selects, which
// stands in an object that lives at home.
func writtenFor(works []*work, ref api.TargetRef, home api.Home) []string {
	var names []string
	for _, w := range works {
		selected := slices.ContainsFunc(w.sources(), func(o *api.Object) bool {
			facts := matcher.RouteOf(o, nil)
			return matcher.Route(ref, home, &facts)
		})
		if !selected || !w.printable() {
			continue
		}
		for _, o := range w.printed.Objects {
			names = append(names, o.Ref.FullName())
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// sources are the objects that say a table: those for its place, and those that are included
// or include.
func (w *work) sources() []*api.Object {
	out := slices.Clone(w.by)
	for i := range w.all {
		for _, by := range slices.Concat(w.all[i].Origins, w.all[i].IncludedBy) {
			if o, ok := (view{objects: w.objects}).Object(by.Ref); ok && !slices.Contains(out, o) {
				out = append(out, o)
			}
		}
	}
	return out
}

// wordsOf is a ref to routes in words.
func wordsOf(ref api.TargetRef) string {
	if ref.Name != "" {
		return ref.Kind + " " + api.Ref{Name: ref.Name, Namespace: ref.Namespace}.FullName()
	}
	var labels []string
	for _, k := range slices.Sorted(maps.Keys(ref.Labels)) {
		labels = append(labels, k+": "+ref.Labels[k])
	}
	return ref.Kind + " with " + strings.Join(labels, ", ")
}

// targets calls do for each targetRef below a value of JSON.
func targets(v any, at api.Path, do func(api.Path, api.TargetRef)) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			if field != "targetRef" {
				targets(v[field], at.Field(field), do)
				continue
			}
			var ref api.TargetRef
			if json.Unmarshal([]byte(text(v[field])), &ref) == nil {
				do(at.Field(field), ref)
			}
		}
	case []any:
		for i := range v {
			targets(v[i], at.Index(i), do)
		}
	}
}
