package web

import (
	"encoding"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// The schemas are read from the same types that documents are decoded into, so
// they cannot lag behind.

type schema map[string]any

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
		"name":   schema{"type": "string"},
		"labels": schema{"type": "object", "additionalProperties": schema{"type": "string"}},
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
		properties["status"] = describe(reflect.TypeOf(t.NewStatus()), 0)
	}
	return schema{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": t.Name, "type": "object",
		"properties": properties, "required": required, "additionalProperties": false}
}

func (s *server) specOf(t api.Type) schema {
	k := s.kindOf(t.Name)
	if k == nil {
		return describe(reflect.TypeOf(t.New()), 0)
	}
	return policySchema(k)
}

// policySchema is the body of documents of one kind, with the texts, defaults
// and scopes of its fields, as the reference of the kind has it.
func policySchema(k *policies.Kind) schema {
	var whole struct {
		Properties struct {
			Spec schema `json:"spec"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(k.JSONSchema(), &whole); err != nil {
		panic(err) // the kind wrote it itself
	}
	spec := whole.Properties.Spec
	spec["description"] = k.Title
	return spec
}

const deepest = 12

// describe is the schema of a Go type as documents write it.
func describe(t reflect.Type, depth int) schema {
	if depth > deepest {
		return schema{}
	}
	text := reflect.TypeFor[encoding.TextUnmarshaler]()
	switch {
	case t == reflect.TypeFor[api.IntOrName]():
		return schema{"type": []string{"integer", "string"}}
	case t == reflect.TypeFor[api.Duration]():
		return schema{"type": "string", "examples": []string{"10s", "1m30s"}}
	case t.Implements(text) || reflect.PointerTo(t).Implements(text):
		return schema{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem(), depth)
	case reflect.Struct:
		return describeStruct(t, depth)
	case reflect.Slice:
		return schema{"type": "array", "items": describe(t.Elem(), depth+1)}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": describe(t.Elem(), depth+1)}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return schema{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int32, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return schema{"type": "number"}
	}
	return schema{}
}

func describeStruct(t reflect.Type, depth int) schema {
	properties := schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || name == "" || name == "-" {
			continue
		}
		properties[name] = describe(f.Type, depth+1)
	}
	return schema{"type": "object", "properties": properties, "additionalProperties": false}
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
	schemas := schema{"Problem": describe(reflect.TypeFor[problem](), 0)}
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
			out = append(out, schema{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": schema{"type": "string"}})
		}
	}
	return out
}
