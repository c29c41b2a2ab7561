package policies

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// JSONSchema describes the documents of the kind for editors and forms. Which refs
// they may hold depends on what kinds there are.
func (k *Kind) JSONSchema(c *api.Catalog) []byte {
	whole := jsonschema.Schema{
		"$schema": jsonschema.Dialect, "title": k.Name, "description": k.Title, "type": "object",
		"required": []string{"type", "name", "spec"},
		"properties": jsonschema.Schema{
			"type": jsonschema.Schema{"const": k.Name}, "mesh": jsonschema.Text(), "name": jsonschema.Text(),
			"labels": jsonschema.MapOf(jsonschema.Text()), "spec": jsonschema.OfSpec(c, k.Type()).Plain(),
		},
	}
	out, err := json.MarshalIndent(whole, "", "  ")
	if err != nil {
		panic(err) // the schema is made of maps and texts only
	}
	return append(out, '\n')
}

// Schema describes the body of the kind's documents. Beside what a schema
// usually says, a leaf of the conf has the default that takes part where its block
// is used, and the keyword x-weft-scope: route, cluster or listener. Only fields
// of scope route may be set for a route.
func (s *Spec) Schema(c *api.Catalog) jsonschema.Schema {
	k, ref := s.Kind, func(rules api.RefRules) jsonschema.Schema {
		return jsonschema.Of(reflect.TypeFor[api.TargetRef]()).Ref(rules)
	}
	members := jsonschema.Schema{
		"targetRef": ref(api.RefRules{Kinds: k.tops(), Routes: k.routes(c), Catalog: c, Top: true, InboundSection: k.From || k.Rules}),
	}
	if k.Single {
		return k.entry(members).Rule(k.singleRules(c)...)
	}
	if !k.Inbound {
		to := k.item(ref(api.RefRules{Kinds: toKinds, Routes: c.Routes(), Catalog: c}))
		to.Rule(k.routeOnlyRules(c, "self")...)
		members["to"] = jsonschema.ListOf(to)
	}
	if k.From {
		members["from"] = jsonschema.ListOf(k.item(ref(api.RefRules{Kinds: k.froms(), Catalog: c})))
	}
	if k.Rules {
		rule := jsonschema.Schema{}
		if !k.NoMatches {
			rule["matches"] = jsonschema.Of(reflect.TypeFor[[]ClientMatch]())
		}
		members["rules"] = jsonschema.ListOf(k.entry(rule))
	}
	return jsonschema.Closed(members).Rule(k.formRules(c)...)
}

// item is the schema of an entry with a ref.
func (k *Kind) item(ref jsonschema.Schema) jsonschema.Schema {
	out := k.entry(jsonschema.Schema{"targetRef": ref})
	out["required"] = []string{"targetRef"}
	return out
}

// entry is the schema of one that says something under default, override or both.
func (k *Kind) entry(members jsonschema.Schema) jsonschema.Schema {
	members["default"], members["override"] = k.conf(), k.conf()
	out := jsonschema.Closed(members)
	out["anyOf"] = []any{jsonschema.Schema{"required": []string{"default"}}, jsonschema.Schema{"required": []string{"override"}}}
	return out
}

// conf is the schema of the conf.
func (k *Kind) conf() jsonschema.Schema {
	t := reflect.TypeOf(k.New())
	out := jsonschema.Of(t)
	out["minProperties"] = 1
	k.describe(out, t.Elem(), "")
	return out
}

// describe adds to the schema of a block of the conf, which stands at path, what the
// kind says of its fields.
func (k *Kind) describe(block jsonschema.Schema, t reflect.Type, path string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := jsonschema.NameOf(f)
		at := strings.TrimPrefix(path+"."+name, ".")
		member := block.Member(name)
		if _, leaf := f.Tag.Lookup("weft"); leaf {
			k.annotate(member, at)
		} else {
			k.describe(member, f.Type.Elem(), at)
		}
		if doc := k.Docs[at]; doc != "" {
			member["description"] = doc
		}
	}
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
