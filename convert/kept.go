package convert

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
)

// tellPolicies names the policies among the objects that target a route which is written
// in another language: they target the old one still.
func (c *converter) tellPolicies(works []*work) {
	now := map[[2]string][]string{} // by kind and name of the source
	for _, w := range works {
		for _, o := range w.by {
			key := [2]string{o.Kind, o.DisplayName()}
			for n := 0; w.printable() && n < len(w.printed.Objects); n++ {
				now[key] = append(now[key], w.printed.Objects[n].Name)
			}
		}
	}
	for _, o := range c.objects {
		var spec any
		if typ, ok := c.Catalog.Find(o.Kind); !ok || !typ.Policy || typ.Route || json.Unmarshal([]byte(text(o.Spec)), &spec) != nil {
			continue
		}
		targets(spec, "spec", func(at api.Path, kind, name string) {
			if names := slices.Compact(slices.Sorted(slices.Values(now[[2]string{kind, name}]))); len(names) > 0 {
				c.note(&api.Origin{Ref: o.Ref}, api.Warning, "PolicyTargetsSource", at, "it targets %s %s, which is %s %s now, and does not act on that: write the new kind, name and section", kind, name, c.Kind, strings.Join(names, ", "))
			}
		})
	}
}

// targets calls do for each targetRef below a value of JSON that names an object.
func targets(v any, at api.Path, do func(at api.Path, kind, name string)) {
	switch v := v.(type) {
	case map[string]any:
		for _, field := range slices.Sorted(maps.Keys(v)) {
			if ref, ok := v[field].(map[string]any); ok && field == "targetRef" {
				kind, _ := ref["kind"].(string)
				name, _ := ref["name"].(string)
				do(at.Field(field), kind, name)
				continue
			}
			targets(v[field], at.Field(field), do)
		}
	case []any:
		for i := range v {
			targets(v[i], at.Index(i), do)
		}
	}
}
