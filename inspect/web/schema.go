package web

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect"
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
	if t.Meta {
		properties["annotations"] = jsonschema.MapOf(jsonschema.Text())
	}
	for _, readOnly := range []string{"namespace", "creationTime", "modificationTime", "kri"} {
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
	properties["status"] = statusOf(t)
	return schema{"$schema": jsonschema.Dialect, "title": t.Name, "type": "object",
		"properties": properties, "required": required, "additionalProperties": false}
}

// statusOf is what readers are told of a document: what weft reports of its kind, and
// conditions, in the form of this API or in that of Kubernetes.
func statusOf(t api.Type) schema {
	status := jsonschema.Closed(schema{})
	condition := jsonschema.For[inspect.Condition]()
	if t.Custom != nil {
		status = jsonschema.Of(reflect.TypeOf(t.Custom.Status)).Plain()
		if own, ok := status["properties"].(schema)["conditions"].(schema); ok {
			condition = schema{"anyOf": []schema{condition, own["items"].(schema)}}
		}
	}
	status["readOnly"] = true
	status["properties"].(schema)["conditions"] = jsonschema.ListOf(condition)
	return status
}

func (s *server) specOf(t api.Type) schema {
	spec := jsonschema.OfSpec(s.Catalog, t).Plain()
	if k := s.kindOf(t.Name); k != nil {
		spec["description"] = k.Title
	}
	return spec
}
