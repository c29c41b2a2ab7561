package web

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

type schema = jsonschema.Schema

func (s *server) schema(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("kind"), ".json")
	t, known := s.Catalog.Find(name)
	if !ok || !known {
		return missing()
	}
	answer(w, http.StatusOK, s.schemaOf(t))
	return nil
}

// schemaOf describes one kind of document in Kuma's envelope.
func (s *server) schemaOf(t api.Type) schema {
	properties := schema{
		"type":   schema{"type": "string", "const": t.Name},
		"name":   jsonschema.Text(),
		"labels": jsonschema.MapOf(jsonschema.Text()),
	}
	for _, readOnly := range []string{"creationTime", "modificationTime", "kri"} {
		properties[readOnly] = schema{"type": "string", "readOnly": true}
	}
	required := []string{"type", "name"}
	if !t.Global {
		properties["mesh"] = schema{"type": "string", "default": api.DefaultMesh}
	}
	spec := s.specOf(t)
	if t.Bare {
		for k, v := range spec["properties"].(schema) {
			properties[k] = v
		}
	} else {
		properties["spec"] = spec
		required = append(required, "spec")
	}
	if t.NewStatus != nil {
		properties["status"] = jsonschema.Of(reflect.TypeOf(t.NewStatus()))
	}
	return schema{"$schema": jsonschema.Dialect, "title": t.Name, "type": "object",
		"properties": properties, "required": required, "additionalProperties": false}
}

func (s *server) specOf(t api.Type) schema {
	spec := jsonschema.OfSpec(s.Catalog, t).Plain()
	if k := s.kindOf(t.Name); k != nil {
		spec["description"] = k.Title
	}
	return spec
}

// openAPI describes the API from its own list of routes.
func (s *server) openAPI(w http.ResponseWriter, _ *http.Request) error {
	paths := schema{}
	for _, e := range s.routes() {
		method, path, _ := strings.Cut(e.pattern, " ")
		path = strings.ReplaceAll(path, "{$}", "")
		item, ok := paths[path].(schema)
		if !ok {
			item = schema{}
			paths[path] = item
		}
		operation := schema{"summary": e.about, "responses": schema{
			"200":     schema{"description": "Done"},
			"default": schema{"description": "Refused", "content": schema{"application/json": schema{"schema": schema{"$ref": "#/components/schemas/Problem"}}}},
		}}
		if p := parameters(path); len(p) > 0 {
			operation["parameters"] = p
		}
		item[strings.ToLower(method)] = operation
	}
	schemas := schema{"Problem": jsonschema.Of(reflect.TypeFor[problem]())}
	for _, t := range s.Catalog.Types() {
		schemas[t.Name] = s.schemaOf(t)
	}
	answer(w, http.StatusOK, schema{"openapi": "3.1.0", "info": schema{"title": "weft", "version": s.About.Version},
		"paths": paths, "components": schema{"schemas": schemas}})
	return nil
}

// parameters are those in the braces of a path.
func parameters(path string) []schema {
	var out []schema
	for _, part := range strings.Split(path, "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			out = append(out, schema{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": jsonschema.Text()})
		}
	}
	return out
}
