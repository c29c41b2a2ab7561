package crd_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/control/world"
)

// TestFieldsAreExplained: kubectl explain says of each kind what it is, and of the fields that people write
// what they are for; and a definition stays small enough for kubectl apply, which repeats it in an annotation.
func TestFieldsAreExplained(t *testing.T) {
	t.Parallel()
	all, without := 0, 0
	for _, d := range crd.All(world.Catalog(), "dev", crd.Bundles(world.Catalog())...) {
		root := d.Spec.Versions[0].Schema.Root
		spec := root["properties"].(jsonschema.Schema)["spec"].(jsonschema.Schema)
		if root["description"] == "" || spec["description"] == nil {
			t.Errorf("%s has no description", d.Spec.Names.Kind)
		}
		var walk func(at string, s jsonschema.Schema)
		walk = func(at string, s jsonschema.Schema) {
			for _, key := range []string{"items", "additionalProperties"} {
				if inner, ok := s[key].(jsonschema.Schema); ok {
					walk(at, inner)
				}
			}
			members, _ := s["properties"].(jsonschema.Schema)
			for name, m := range members {
				all++
				if text, _ := m.(jsonschema.Schema)["description"].(string); text == "" {
					without++
					if strings.HasPrefix(d.Spec.Names.Kind, "Mesh") && strings.Count(at, ".") < 2 {
						t.Errorf("%s: %s.%s is not explained", d.Spec.Names.Kind, at, name)
					}
				} else if strings.Contains(text, "spec/") || len(text) > 1000 {
					t.Errorf("%s: %s.%s: %s", d.Spec.Names.Kind, at, name, text)
				}
				walk(at+"."+name, m.(jsonschema.Schema))
			}
		}
		walk("spec", spec)
		if text, err := json.Marshal(d); err != nil || len(text) > 200<<10 {
			t.Errorf("%s: %d bytes %v", d.Spec.Names.Kind, len(text), err)
		}
	}
	if without*5 > all {
		t.Errorf("%d of %d fields have no description", without, all)
	}
}
