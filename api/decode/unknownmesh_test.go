package decode_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// TestAMeshThatComesLast: a mesh may stand behind any number of its documents, in whatever form, and all of them
// are read; of a mesh that none of the texts has, no more than mistakes are told.
func TestAMeshThatComesLast(t *testing.T) {
	t.Parallel()
	const most, n = 10, 50
	var documents strings.Builder
	for i := range n {
		fmt.Fprintf(&documents, "type: MeshRetry\nname: a%d\nmesh: late\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 1}}}]}\n---\n", i)
	}
	for what, c := range map[string]struct {
		mesh string
		all  bool
	}{
		"a document":            {"type: Mesh\nname: late\n", true},
		"one with comments":     {"# late\n\ntype: Mesh # which\nname: late\n", true},
		"one further in":        {"  type: Mesh\n  name: late\n", true},
		"quoted":                {"\"type\": 'Mesh'\nname: late\n", true},
		"in one line":           {"{type: Mesh, name: late}\n", true},
		"beside the marker":     {"--- {type: Mesh, name: late}\n", true},
		"by an escape":          {"type: \"\\u004desh\"\nname: late\n", true},
		"by an alias":           {"name: &n late\ntype: Mesh\nlabels: {a: *n}\n", true},
		"of Kubernetes":         {"apiVersion: kuma.io/v1alpha1\nkind: Mesh\nmetadata:\n  name: late\n", true},
		"in a list":             {"apiVersion: v1\nkind: List\nitems:\n- apiVersion: kuma.io/v1alpha1\n  kind: Mesh\n  metadata: {name: late}\n", true},
		"a sequence":            {"- type: Mesh\n  name: late\n", true},
		"in JSON":               {`{"type": "Mesh", "name": "late"}`, true},
		"in a list of JSON":     {`[{"type": "MeshRetry", "mesh": "late", "name": "b"}, {"type": "Mesh", "name": "late"}]`, true},
		"in a list in JSON":     {`{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "kuma.io/v1alpha1", "kind": "Mesh", "metadata": {"name": "late"}}]}`, true},
		"after a broken one":    {"a: [\n---\ntype: Mesh\nname: late\n", true},
		"none":                  {"", false},
		"another":               {"type: Mesh\nname: other\n", false},
		"another in JSON":       {`[{"type": "Mesh", "name": "other"}, []]`, false},
		"one of a broken kind":  {"type: Meshh\nname: late\n", false},
		"a name at other kinds": {"type: MeshRetry\nname: late\nmesh: late\nspec: {targetRef: {kind: Mesh, name: late}}\n", false},
	} {
		bounds := decode.Bounds{Mistakes: most, Meshes: func(name string) bool { return name == "default" }}
		objects, refused, err := decode.Within(bounds, world.Catalog(), decode.Text{File: "f.yaml", Text: []byte(documents.String() + c.mesh)})
		got := 0
		for _, o := range objects {
			if o.Kind == "MeshRetry" && o.Mesh == "late" && o.Name != "b" {
				got++
			}
		}
		cut := strings.Contains(fmt.Sprint(err), "the rest was not read")
		if c.all != (got == n) || cut == c.all || !c.all && got > most+1 {
			t.Errorf("%s: %d of %d documents are read, %d refused, cut %v: %v", what, got, n, len(refused), cut, err)
		}
	}
	bounds := decode.Bounds{Mistakes: most, Meshes: func(name string) bool { return name == "late" }}
	if objects, _, err := decode.Within(bounds, world.Catalog(), decode.Text{File: "f.yaml", Text: []byte(documents.String())}); err != nil || len(objects) != n {
		t.Errorf("of a mesh that is there: %d, %v", len(objects), err)
	}
}
