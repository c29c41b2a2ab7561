package policies

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// JSONSchema describes the documents of the kind for editors and forms.
func (k *Kind) JSONSchema() []byte {
	whole := jsonschema.Schema{
		"$schema": jsonschema.Dialect, "title": k.Name, "description": k.Title, "type": "object",
		"required": []string{"type", "name", "spec"},
		"properties": jsonschema.Schema{
			"type": jsonschema.Schema{"const": k.Name}, "mesh": jsonschema.Text(), "name": jsonschema.Text(),
			"labels": jsonschema.MapOf(jsonschema.Text()), "spec": k.SpecSchema(),
		},
	}
	out, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic(err) // the schema is made of maps and texts only
	}
	return append(out, '\n')
}

// SpecSchema describes the body of the kind's documents. Beside what a schema
// usually says, a leaf of the conf has the default that takes part where its block
// is used, and the keyword x-weft-scope: route, cluster or listener. Only fields
// of scope route may be set for a route.
func (k *Kind) SpecSchema() jsonschema.Schema {
	conf := k.describe(reflect.TypeOf(k.New()).Elem(), "")
	ref := jsonschema.Of(reflect.TypeFor[api.TargetRef]())
	entry := func(members jsonschema.Schema) jsonschema.Schema {
		members["default"], members["override"] = conf, conf
		e := jsonschema.Closed(members)
		e["anyOf"] = []any{jsonschema.Schema{"required": []string{"default"}}, jsonschema.Schema{"required": []string{"override"}}}
		return e
	}
	item := entry(jsonschema.Schema{"targetRef": ref})
	item["required"] = []string{"targetRef"}
	lists := jsonschema.Schema{"targetRef": ref, "to": jsonschema.ListOf(item)}
	if k.From {
		lists["from"] = jsonschema.ListOf(item)
	}
	if k.Rules {
		lists["rules"] = jsonschema.ListOf(entry(jsonschema.Schema{"matches": jsonschema.Of(reflect.TypeFor[[]ClientMatch]())}))
	}
	return jsonschema.Closed(lists)
}

// describe is the schema of a block of the conf that stands at path.
func (k *Kind) describe(t reflect.Type, path string) jsonschema.Schema {
	members := jsonschema.Schema{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonschema.NameOf(f)
		at := strings.TrimPrefix(path+"."+name, ".")
		var member jsonschema.Schema
		if _, leaf := f.Tag.Lookup("weft"); leaf {
			member = jsonschema.Of(f.Type)
			k.annotate(member, at)
		} else {
			member = k.describe(f.Type.Elem(), at)
		}
		if doc := k.Docs[at]; doc != "" {
			member["description"] = doc
		}
		members[name] = member
	}
	return jsonschema.Closed(members)
}

// annotate adds what only leaves have.
func (k *Kind) annotate(member jsonschema.Schema, path string) {
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
