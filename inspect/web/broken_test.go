package web_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
)

// A broken body is one with a field that is of another type than the description says.
type broken struct {
	at   api.Path
	body any
}

// breaks yields a body for each field of a schema, in which it alone is wrong, and one for
// each object with a field more.
func breaks(doc map[string]any, s map[string]any, at api.Path, deep int, wrap func(any) any, yield func(broken)) {
	if ref, ok := s["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		s, _ = doc[name].(map[string]any)
	}
	if s["readOnly"] == true || s["const"] != nil || deep > 12 {
		return
	}
	switch s["type"] {
	case "object":
		if at != "" {
			yield(broken{at, wrap("nonsense")})
		}
		properties, _ := s["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			below, _ := properties[name].(map[string]any)
			breaks(doc, below, at.Field(name), deep+1, func(v any) any { return wrap(map[string]any{name: v}) }, yield)
		}
		if s["additionalProperties"] == false && len(properties) > 0 {
			yield(broken{at, wrap(map[string]any{"nonsense": 1})})
		}
	case "array":
		yield(broken{at, wrap(map[string]any{"nonsense": 1})})
		if items, ok := s["items"].(map[string]any); ok {
			breaks(doc, items, at.Index(0), deep+1, func(v any) any { return wrap([]any{v}) }, yield)
		}
	case "string", "integer", "number", "boolean":
		yield(broken{at, wrap(map[string]any{"nonsense": []int{1}})})
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		parts, _ := s[key].([]any)
		for _, part := range parts {
			if part, ok := part.(map[string]any); ok {
				breaks(doc, part, at, deep+1, wrap, yield)
			}
		}
	}
}

// tolerated reports whether an answer warns of a field that it does not know: of a document
// that newer controllers read too.
func tolerated(b broken, code int, text string) bool {
	return code == http.StatusOK && strings.Contains(text, `"field":"`+string(b.at)+`.nonsense","code":"UnknownField"`)
}

// tellsOf fails where an answer does not name a field, or the object that it is a part of.
func tellsOf(t *testing.T, what string, b broken, code int, text string) {
	t.Helper()
	for _, field := range wrongAt(t, what, code, text) {
		if f := api.Path(field); f.Within(b.at) || b.at.Within(f) {
			return
		}
	}
	t.Errorf("%s: %s is not told of: %.500s", what, b.at, text)
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Whatever field of a body is of another type than the description says: the answer is 400 and
// names it, for every endpoint that reads one.
func TestEveryFieldOfABodyRefusesNonsense(t *testing.T) {
	t.Parallel()
	doc, err := described()
	if err != nil {
		t.Fatal(err)
	}
	server, _ := serve(t, viewed, false)
	asked := 0
	for path, methods := range doc.Paths {
		for method, o := range methods {
			body, _ := o.RequestBody.Content["application/json"].Schema.(map[string]any)
			if _, documents := body["items"]; body == nil || documents || body["$ref"] == "#/components/schemas/Document" || body["$ref"] == "#/components/schemas/KubernetesDocument" {
				continue // TestEveryFieldOfADocumentRefusesNonsense
			}
			breaks(doc.Components.Schemas, body, "", 0, func(v any) any { return v }, func(b broken) {
				if b.at == "" && strings.HasPrefix(path, "/tokens/") && path != "/tokens/revoke" {
					return // clients of other versions send more
				}
				asked++
				text := asJSON(t, b.body)
				code, said := call(t, strings.ToUpper(method), server.URL+inPath.Replace(path), text)
				if b.at == "" {
					b.at = "nonsense"
				}
				tellsOf(t, method+" "+path+" "+text, b, code, said)
			})
			for _, text := range []string{"", "null", "[]", "1", `"x"`, "{", "{}{}", "\x00", strings.Repeat("[", 10_000)} {
				if code, said := call(t, strings.ToUpper(method), server.URL+inPath.Replace(path), text); code != http.StatusBadRequest {
					t.Errorf("%s %s %.20q: %d %s", method, path, text, code, said)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d bodies were sent", asked)
	}
}

// Whatever field of a document of any kind is of another type than its schema says: the answer
// is 400 and names it.
func TestEveryFieldOfADocumentRefusesNonsense(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, viewed, false)
	_, text := call(t, http.MethodGet, server.URL+"/_resources", "")
	var kinds struct{ Resources []struct{ Name string } }
	if err := json.Unmarshal([]byte(text), &kinds); err != nil {
		t.Fatal(err)
	}
	sent := 0
	for _, kind := range kinds.Resources {
		typ, _ := world.Catalog().Type(kind.Name)
		_, text := call(t, http.MethodGet, server.URL+"/_schemas/"+kind.Name+".json", "")
		var schema struct {
			Then  map[string]any
			Else  map[string]any
			AllOf []map[string]any
		}
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			t.Fatal(err)
		}
		forms := map[string]map[string]any{"universal": schema.Else}
		if schema.Else == nil {
			forms = map[string]map[string]any{"kubernetes": schema.AllOf[0]}
		}
		for form, s := range forms {
			properties := s["properties"].(map[string]any)
			for _, name := range []string{"type", "name", "mesh", "apiVersion", "kind", "metadata", "status"} {
				delete(properties, name)
			}
			breaks(nil, s, "", 0, func(v any) any { return v }, func(b broken) {
				document, ok := b.body.(map[string]any)
				if !ok {
					return
				}
				if b.at == "" {
					b.at = "nonsense"
				}
				if form == "universal" {
					maps.Copy(document, map[string]any{"type": kind.Name, "name": "x"})
				} else {
					maps.Copy(document, map[string]any{"apiVersion": typ.APIVersion(), "kind": kind.Name, "metadata": map[string]any{"name": "x", "namespace": "a"}})
				}
				if sent++; testing.Short() && sent%8 != 0 {
					return
				}
				body := asJSON(t, document)
				code, said := call(t, http.MethodPost, server.URL+"/_apply?dryRun=true", body)
				if !tolerated(b, code, said) {
					tellsOf(t, fmt.Sprintf("%.200s", body), b, code, said)
				}
			})
		}
	}
	if sent < 300 {
		t.Errorf("only %d documents were sent", sent)
	}
}
