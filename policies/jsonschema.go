package policies

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
)

// JSONSchema describes the documents of the kind for editors and forms. Beside
// what a schema usually says, a leaf of the conf has the default that takes part
// where its block is used, and the keyword x-weft-scope: route, cluster or
// listener. Only fields of scope route may be set for a route.
func (k *Kind) JSONSchema() []byte {
	conf := k.describe(reflect.TypeOf(k.New()).Elem(), "")
	ref := schemaOf(reflect.TypeFor[api.TargetRef]())
	either := []any{map[string]any{"required": []string{"default"}}, map[string]any{"required": []string{"override"}}}
	item := map[string]any{
		"type": "object", "additionalProperties": false, "required": []string{"targetRef"}, "anyOf": either,
		"properties": map[string]any{"targetRef": ref, "default": conf, "override": conf},
	}
	lists := map[string]any{"targetRef": ref, "to": listOf(item)}
	if k.From {
		lists["from"] = listOf(item)
	}
	if k.Rules {
		lists["rules"] = listOf(map[string]any{
			"type": "object", "additionalProperties": false, "anyOf": either,
			"properties": map[string]any{"matches": schemaOf(reflect.TypeFor[[]ClientMatch]()), "default": conf, "override": conf},
		})
	}
	text := map[string]any{"type": "string"}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": k.Name, "description": k.Title, "type": "object",
		"required": []string{"type", "name", "spec"},
		"properties": map[string]any{
			"type": map[string]any{"const": k.Name}, "mesh": text, "name": text,
			"labels": map[string]any{"type": "object", "additionalProperties": text},
			"spec":   map[string]any{"type": "object", "additionalProperties": false, "properties": lists},
		},
	}
	out, err := json.MarshalIndent(schema, "", "  ")
	if err != nil {
		panic(err) // the schema is made of maps and texts only
	}
	return append(out, '\n')
}

// describe is the schema of a block of the conf that stands at path.
func (k *Kind) describe(t reflect.Type, path string) map[string]any {
	block := map[string]any{"type": "object", "additionalProperties": false}
	members := map[string]any{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		var member map[string]any
		if _, leaf := f.Tag.Lookup("weft"); leaf {
			member = schemaOf(f.Type)
			k.annotate(member, at)
		} else {
			member = k.describe(f.Type.Elem(), at)
		}
		if doc := k.Docs[at]; doc != "" {
			member["description"] = doc
		}
		members[name] = member
	}
	block["properties"] = members
	return block
}

// annotate adds what only leaves have.
func (k *Kind) annotate(member map[string]any, path string) {
	for _, l := range k.Schema.Leaves {
		if l.Path == path {
			member["x-weft-scope"] = string(l.Scope)
		}
	}
	if v, ok := k.Default(path); ok {
		member["default"] = v
	}
}

// Default is the built-in value of the leaf at path.
func (k *Kind) Default(path string) (any, bool) {
	if k.Defaults == nil {
		return nil, false
	}
	for _, leaf := range k.Schema.Read(k.Defaults()) {
		if k.Schema.Leaves[leaf.Field].Path == path {
			return leaf.Value, true
		}
	}
	return nil, false
}

// schemaOf is the schema of a Go type, as the decoder reads it.
func schemaOf(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[api.Duration]():
		return map[string]any{"type": "string", "format": "go-duration", "examples": []string{"10s", "1m30s"}}
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem())
	case t.Kind() == reflect.Bool:
		return map[string]any{"type": "boolean"}
	case t.Kind() == reflect.Uint32:
		return map[string]any{"type": "integer", "minimum": 0, "maximum": 1<<32 - 1}
	case t.Kind() == reflect.Int32, t.Kind() == reflect.Int64:
		return map[string]any{"type": "integer"}
	case t.Kind() == reflect.Slice:
		return listOf(schemaOf(t.Elem()))
	case t.Kind() == reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case t.Kind() == reflect.Struct:
		members := map[string]any{}
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			members[name] = schemaOf(t.Field(i).Type)
		}
		return map[string]any{"type": "object", "additionalProperties": false, "properties": members}
	}
	return map[string]any{"type": "string"}
}

func listOf(item map[string]any) map[string]any {
	return map[string]any{"type": "array", "items": item}
}
