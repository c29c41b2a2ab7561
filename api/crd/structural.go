package crd

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// The keywords of Kubernetes.
const (
	preserve    = "x-kubernetes-preserve-unknown-fields"
	intOrString = "x-kubernetes-int-or-string"
	listType    = "x-kubernetes-list-type"
	listMapKeys = "x-kubernetes-list-map-keys"
)

// kept are the keywords that mean in Kubernetes what they mean in JSON Schema.
var kept = []string{
	"type", "description", "required", "enum", "anyOf", "pattern", "minimum", "maximum",
	"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties", jsonschema.Rules,
}

// bounds are those of lists and texts that have none of their own.
type bounds struct{ items, length int }

// structural is s in the words of structural schemas: every value has a type, every list
// and text a bound. A member that s leaves open is kept whatever it is.
func (b bounds) structural(s jsonschema.Schema) jsonschema.Schema {
	out := jsonschema.Schema{}
	for _, key := range kept {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	// What a policy does without a field is not part of its document.
	if _, conf := s["x-weft-scope"]; !conf && s["default"] != nil {
		out["default"] = s["default"]
	}
	switch s["type"] {
	case nil:
		out[preserve] = true
	case "object":
		b.object(s, out)
	case "array":
		b.list(s, out)
	case "string":
		b.text(s, out)
	case "integer", "number", "boolean":
	default: // integer or string
		delete(out, "type")
		out[intOrString] = true
		out["anyOf"] = []jsonschema.Schema{{"type": "integer"}, {"type": "string"}}
		b.most(out, "maxLength", b.length)
	}
	return out
}

func (b bounds) object(s, out jsonschema.Schema) {
	if values, ok := s["additionalProperties"].(jsonschema.Schema); ok {
		out["additionalProperties"] = b.structural(values)
		b.most(out, "maxProperties", api.MaxEntries)
		return
	}
	members := jsonschema.Schema{}
	for name, m := range s["properties"].(jsonschema.Schema) {
		members[name] = b.structural(m.(jsonschema.Schema))
	}
	if len(members) > 0 {
		out["properties"] = members
	}
}

func (b bounds) list(s, out jsonschema.Schema) {
	out["items"] = b.structural(s["items"].(jsonschema.Schema))
	b.most(out, "maxItems", b.items)
	out[listType] = "atomic"
	if key, ok := s[jsonschema.ListMapKey].(string); ok {
		out[listType], out[listMapKeys] = "map", []string{key}
	}
}

func (b bounds) text(s, out jsonschema.Schema) {
	b.most(out, "maxLength", b.length)
	switch s["format"] {
	case "go-duration":
		out["pattern"] = api.Shapes["duration"].Pattern
	case "date-time":
		out["format"] = "date-time"
	}
}

// most sets a bound where there is none.
func (b bounds) most(out jsonschema.Schema, key string, n int) {
	if out[key] == nil {
		out[key] = n
	}
}
