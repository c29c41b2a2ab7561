package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
)

// The schema of a policy says what a field is for, its default, and for what it
// may be set.
func TestSchemasExplainFields(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	_, text := call(t, http.MethodGet, server.URL+"/_schemas/MeshTimeout.json", "")
	for _, want := range []string{`"x-weft-scope":"cluster"`, `"default":"5s"`, `"description":`} {
		if !strings.Contains(strings.ReplaceAll(text, ": ", ":"), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
}

// Every field that an example uses is in the schema of its kind.
func TestSchemasKnowTheExamples(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for _, k := range world.Kinds() {
		_, text := call(t, http.MethodGet, server.URL+"/_schemas/"+k.Name+".json", "")
		var schema map[string]any
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		objects, found := world.Decode("", []byte(k.Example))
		if len(objects) == 0 {
			t.Fatalf("the example of %s: %v", k.Name, found)
		}
		for _, o := range objects {
			if o.Kind != k.Name {
				continue
			}
			text, err := decode.PrintJSON(world.Catalog(), o)
			if err != nil {
				t.Fatal(err)
			}
			var doc any
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			unknown(t, k.Name, doc, schema)
		}
	}
}

func unknown(t *testing.T, at string, doc any, schema map[string]any) {
	switch doc := doc.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		for k, v := range doc {
			s, ok := properties[k].(map[string]any)
			if !ok {
				if s, ok = schema["additionalProperties"].(map[string]any); !ok {
					t.Errorf("%s.%s is not in the schema", at, k)
					continue
				}
			}
			unknown(t, at+"."+k, v, s)
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for _, v := range doc {
			unknown(t, at+"[]", v, items)
		}
	}
}
