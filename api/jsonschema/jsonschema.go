// Package jsonschema describes the Go types of documents in the words of JSON
// Schema 2020-12, for editors, forms and the description of the API. A schema is
// read from the type that documents are decoded into, so it cannot lag behind.
package jsonschema

import (
	"encoding"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Dialect is the meta-schema that the schemas follow.
const Dialect = "https://json-schema.org/draft/2020-12/schema"

// Schema is one schema, as encoding/json prints it.
type Schema map[string]any

// Text is the schema of any text.
func Text() Schema { return Schema{"type": "string"} }

// Closed is an object that has these members and no others.
func Closed(members Schema) Schema {
	return Schema{"type": "object", "additionalProperties": false, "properties": members}
}

// ListOf is a list of items.
func ListOf(item Schema) Schema { return Schema{"type": "array", "items": item} }

// MapOf is an object with any members, each of them a value.
func MapOf(value Schema) Schema { return Schema{"type": "object", "additionalProperties": value} }

// durationFormat is that of texts such as 1m30s.
const durationFormat = "go-duration"

// deepest bounds types that contain themselves: below it anything is allowed.
const deepest = 12

var textual = reflect.TypeFor[encoding.TextUnmarshaler]()

// Of is the schema of a Go type, as the decoder reads it.
func Of(t reflect.Type) Schema { return of(t, 0) }

// For is Of for a type that is known.
func For[T any]() Schema { return Of(reflect.TypeFor[T]()) }

func of(t reflect.Type, depth int) Schema {
	self, ok := reflect.Zero(t).Interface().(Itself)
	switch {
	case depth > deepest:
		return Schema{}
	case ok && t.Kind() != reflect.Pointer:
		return self.JSONSchema()
	case t.Kind() == reflect.Pointer:
		return of(t.Elem(), depth)
	case t == reflect.TypeFor[api.IntOrName]():
		return Schema{"type": []string{"integer", "string"}}
	case t == reflect.TypeFor[api.Duration]():
		return Schema{"type": "string", "format": durationFormat, "examples": []string{"10s", "1m30s"}}
	case reflect.PointerTo(t).Implements(textual):
		return Text()
	}
	switch t.Kind() {
	case reflect.Struct:
		return object(t, depth+1)
	case reflect.Slice:
		return ListOf(of(t.Elem(), depth+1))
	case reflect.Map:
		return MapOf(of(t.Elem(), depth+1))
	case reflect.String:
		return Text()
	case reflect.Bool:
		return Schema{"type": "boolean"}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return Schema{"type": "integer", "minimum": 0, "maximum": uint64(1)<<t.Bits() - 1}
	case reflect.Uint, reflect.Uint64:
		return Schema{"type": "integer", "minimum": 0}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return Schema{"type": "integer"}
	case reflect.Float32, reflect.Float64:
		return Schema{"type": "number"}
	}
	return Schema{}
}

// object is the schema of a struct: its members, those that are required, its rules.
func object(t reflect.Type, depth int) Schema {
	out := Closed(Schema{})
	var required []string
	members(t, depth, out["properties"].(Schema), &required)
	if len(required) > 0 {
		out["required"] = required
	}
	if ruled, ok := reflect.New(t).Interface().(Ruled); ok {
		out.Rule(ruled.Rules()...)
	}
	return out
}

func members(t reflect.Type, depth int, out Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && NameOf(f) == "" && f.Type.Kind() == reflect.Struct {
			members(f.Type, depth, out, required)
		} else if name := NameOf(f); name != "" {
			s := of(f.Type, depth)
			Constrain(s, f)
			out[name] = s
			if _, ok := TagOf(f)["required"]; ok {
				*required = append(*required, name)
			}
		}
	}
}

// NameOf is the member of documents that a field is read from; empty for none.
func NameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if !f.IsExported() || name == "-" {
		return ""
	}
	return name
}

// refTo is where an OpenAPI document has its schemas.
const refTo = "#/components/schemas/"

// RefTo is a reference to a schema by its name.
func RefTo(name string) Schema { return Schema{"$ref": refTo + name} }
