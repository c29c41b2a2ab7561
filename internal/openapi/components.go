package openapi

import (
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// Components describes Go types as encoding/json writes them, each struct once and by a
// name, as the components of an OpenAPI document do.
//
// It differs from jsonschema.Of, which describes what is read: a member that is always written is
// required, and a pointer that is written without a value may be null. A list that is
// always written is taken to be one, also where it is empty.
type Components struct {
	// Schemas are those of all types that were asked for, by name.
	Schemas jsonschema.Schema
	// Names are of types that are to be called otherwise than in Go.
	Names map[reflect.Type]string
	// Known are schemas of types that are written otherwise than their Go type says, and of
	// texts of which there are few.
	Known map[reflect.Type]jsonschema.Schema
	// About describes a type, or a member of it, in words; empty where there are none.
	About func(t reflect.Type, field string) string

	types map[string]reflect.Type
}

var (
	texts     = reflect.TypeFor[encoding.TextUnmarshaler]()
	marshaler = reflect.TypeFor[json.Marshaler]()
	itself    = reflect.TypeFor[jsonschema.Itself]()
)

// Of is the schema of a type, in which structs with a name are references. It panics of two
// types that have one name, and of a type that writes itself in a form that is not known.
func (c *Components) Of(t reflect.Type) jsonschema.Schema {
	if known, ok := c.Known[t]; ok {
		return known
	}
	switch {
	case t.Kind() == reflect.Pointer:
		return c.Of(t.Elem())
	case t.Implements(itself):
		return reflect.Zero(t).Interface().(jsonschema.Itself).JSONSchema()
	case t == reflect.TypeFor[time.Time]():
		return jsonschema.Schema{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[json.RawMessage](), t == reflect.TypeFor[api.IntOrName](), t == reflect.TypeFor[api.Duration]():
		return jsonschema.Of(t)
	case t == reflect.TypeFor[api.Labels]():
		return jsonschema.MapOf(jsonschema.Text())
	case reflect.PointerTo(t).Implements(texts):
		return jsonschema.Text()
	case reflect.PointerTo(t).Implements(marshaler):
		panic(fmt.Sprintf("%v writes itself in a form that is not known; name it among Known", t))
	}
	switch t.Kind() {
	case reflect.Struct:
		return c.component(t)
	case reflect.Slice:
		return jsonschema.ListOf(c.Of(t.Elem()))
	case reflect.Map:
		return jsonschema.MapOf(c.Of(t.Elem()))
	}
	return jsonschema.Of(t)
}

// component is a reference to a struct, which is described the first time.
func (c *Components) component(t reflect.Type) jsonschema.Schema {
	name := c.nameOf(t)
	if name == "" {
		return c.object(t)
	}
	if before, ok := c.types[name]; ok && before != t {
		panic(fmt.Sprintf("%v and %v are both called %s; name one of them among Names", before, t, name))
	} else if !ok {
		if c.types == nil {
			c.types = map[string]reflect.Type{}
		}
		c.types[name] = t
		c.Schemas[name] = c.object(t)
	}
	return jsonschema.RefTo(name)
}

// nameOf is the name of a struct: its own, with a capital; and of a list of items, which has
// a type parameter, theirs with List.
func (c *Components) nameOf(t reflect.Type) string {
	if name, ok := c.Names[t]; ok {
		return name
	}
	name := t.Name()
	if strings.Contains(name, "[") {
		if items, ok := t.FieldByName("Items"); ok {
			item := items.Type.Elem()
			for item.Kind() == reflect.Pointer {
				item = item.Elem()
			}
			return c.nameOf(item) + "List"
		}
		panic("no name for " + name)
	}
	if name == "" {
		return ""
	}
	return strings.ToUpper(name[:1]) + name[1:]
}

func (c *Components) object(t reflect.Type) jsonschema.Schema {
	out := jsonschema.Closed(jsonschema.Schema{})
	if text := c.about(t, ""); text != "" {
		out["description"] = text
	}
	required := []string{}
	c.members(t, out["properties"].(jsonschema.Schema), &required)
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

func (c *Components) about(t reflect.Type, field string) string {
	if c.About == nil {
		return ""
	}
	return c.About(t, field)
}

func (c *Components) members(t reflect.Type, out jsonschema.Schema, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonschema.NameOf(f)
		if f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct {
			c.members(f.Type, out, required)
			continue
		} else if name == "" {
			continue
		}
		s := c.Of(f.Type)
		_, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
			if f.Type.Kind() == reflect.Pointer {
				s = jsonschema.Schema{"anyOf": []jsonschema.Schema{s, {"type": "null"}}}
			}
		}
		if text := c.about(t, f.Name); text != "" {
			s = with(s, "description", text)
		}
		if len(jsonschema.TagOf(f)) > 0 {
			s = with(s, "type", s["type"])
			jsonschema.Constrain(s, f)
		}
		out[name] = s
	}
}

// with is a copy of s with a keyword.
func with(s jsonschema.Schema, key string, value any) jsonschema.Schema {
	out := maps.Clone(s)
	out[key] = value
	return out
}
