// Package schemas says which types of documents there are, and describes them as JSON schemas.
package schemas

import (
	"maps"
	"net/http"
	"reflect"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/web/endpoint"
	"github.com/weftmesh/weft/inspect/web/httpapi"
	"github.com/weftmesh/weft/policies"
)

// Handlers describe the types of documents.
type Handlers struct {
	Catalog  *api.Catalog
	Kinds    []*policies.Kind
	ReadOnly bool
}

// Endpoints list types and give their schemas.
func (h *Handlers) Endpoints() []endpoint.Operation {
	return []endpoint.Operation{
		endpoint.New("GET /_resources", h.resources, "All types of documents", endpoint.Says[resourceTypes]()),
		endpoint.New("GET /policies", h.policyTypes, "All types of policies, in the older form", endpoint.Says[policyTypes]()),
		endpoint.New("GET /_schemas/{kind}", h.schema, "The JSON schema of one kind of document: its name and .json", endpoint.Says[endpoint.Anything]()),
	}
}

func (h *Handlers) schema(w http.ResponseWriter, r *http.Request) error {
	name, ok := strings.CutSuffix(r.PathValue("kind"), ".json")
	t, known := h.Catalog.Find(name)
	if !ok || !known {
		return httpapi.NotFound()
	}
	httpapi.Answer(w, http.StatusOK, h.schemaOf(t))
	return nil
}

// schemaOf describes one kind of document for editors: in Kuma's envelope, and where it says an
// apiVersion in that of Kubernetes.
func (h *Handlers) schemaOf(t api.Type) endpoint.Schema {
	out := endpoint.Schema{"$schema": jsonschema.Dialect, "title": t.Name, "type": "object"}
	if of, ok := h.Catalog.InMesh(t); ok {
		out["if"], out["then"], out["else"] = endpoint.Schema{"required": []string{"apiVersion"}}, h.inKubernetes(t), h.InKuma(of)
		return out
	}
	out["allOf"] = []endpoint.Schema{h.inKubernetes(t)}
	return out
}

// InKuma describes a kind in Kuma's envelope (spec/kuma.md 1.1).
func (h *Handlers) InKuma(t api.Type) endpoint.Schema {
	properties := endpoint.Schema{
		"type":   endpoint.Schema{"type": "string", "const": t.Name},
		"name":   jsonschema.Text(),
		"labels": jsonschema.MapOf(jsonschema.Text()),
	}
	if t.Meta || len(t.Annotations) > 0 {
		properties["annotations"] = jsonschema.MapOf(jsonschema.Text())
	}
	for _, readOnly := range []string{"namespace", "creationTime", "modificationTime", "kri"} {
		properties[readOnly] = endpoint.Schema{"type": "string", "readOnly": true}
	}
	required := []string{"type", "name"}
	if !t.Global {
		properties["mesh"] = endpoint.Schema{"type": "string", "default": api.DefaultMesh}
	}
	spec := h.SpecOf(t)
	if t.Flat {
		maps.Copy(properties, spec["properties"].(endpoint.Schema))
	} else {
		properties["spec"] = spec
	}
	properties["status"] = statusOf(t)
	return endpoint.Schema{"title": t.Name, "type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// inKubernetes describes a kind in the envelope of Kubernetes. Of types that only Kubernetes
// has, and of its metadata and status, weft reads a part.
func (h *Handlers) inKubernetes(t api.Type) endpoint.Schema {
	properties := endpoint.Schema{
		"apiVersion": jsonschema.Text(),
		"kind":       endpoint.Schema{"type": "string", "const": t.Name},
		"metadata": endpoint.Schema{"type": "object", "required": []string{"name"}, "properties": endpoint.Schema{
			"name": jsonschema.Text(), "namespace": jsonschema.Text(), "labels": jsonschema.MapOf(jsonschema.Text()), "annotations": jsonschema.MapOf(jsonschema.Text()),
		}},
		"status": endpoint.Schema{"readOnly": true},
	}
	spec := h.SpecOf(t)
	if t.Cluster {
		spec = opened(spec)
	}
	if t.Beside {
		maps.Copy(properties, spec["properties"].(endpoint.Schema))
	} else {
		properties["spec"] = spec
	}
	if t.Flat && !t.Beside {
		properties["mesh"] = jsonschema.Text()
	}
	return endpoint.Schema{"title": t.Name, "type": "object", "properties": properties, "required": []string{"apiVersion", "kind", "metadata"}, "additionalProperties": t.Cluster}
}

// opened is a schema whose objects may have other members too.
func opened(s endpoint.Schema) endpoint.Schema {
	out := endpoint.Schema{}
	for key, v := range s {
		switch v := v.(type) {
		case endpoint.Schema:
			out[key] = opened(v)
		default:
			out[key] = v
		}
	}
	if out["additionalProperties"] == false {
		delete(out, "additionalProperties")
	}
	return out
}

// statusOf is what readers are told of a document: what weft reports of its kind, and
// conditions, in the form of this API or in that of Kubernetes.
func statusOf(t api.Type) endpoint.Schema {
	status := jsonschema.Closed(endpoint.Schema{})
	condition := jsonschema.For[conditions.Condition]()
	if t.Custom != nil {
		status = jsonschema.Of(reflect.TypeOf(t.Custom.Status)).Plain()
		if own, ok := status["properties"].(endpoint.Schema)["conditions"].(endpoint.Schema); ok {
			condition = endpoint.Schema{"anyOf": []endpoint.Schema{condition, own["items"].(endpoint.Schema)}}
		}
	}
	status["readOnly"] = true
	status["properties"].(endpoint.Schema)["conditions"] = jsonschema.ListOf(condition)
	return status
}

// SpecOf is the schema of the spec of a kind.
func (h *Handlers) SpecOf(t api.Type) endpoint.Schema {
	spec := jsonschema.OfSpec(h.Catalog, t).Plain()
	if k := h.kindOf(t.Name); k != nil {
		spec["description"] = k.Title
	}
	return spec
}
