package endpoint

import (
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// Schema is one of a parameter or of a body.
type Schema = jsonschema.Schema

// Form is what an endpoint takes and answers, as GET /_openapi.json describes it.
type Form struct {
	Query   []Parameter
	Bodies  []Media // of a request, one for each content type
	Answers []Media
	// Created says that a PUT answers 201 where there was nothing.
	Created bool
}

// Media is a body of one content type.
type Media struct {
	ContentType string
	Of          reflect.Type
}

// Parameter is one of the query.
type Parameter struct {
	Name, About string
	Schema      Schema
	// Deep is one whose values are given as name[key]=value.
	Deep bool
	// Required says what to do where it is not given; empty where it may be left out.
	Required string
	// Reads is why a value that fits the schema is none all the same; nil for one that always is.
	Reads func(string) error
}

// Content types of bodies.
const (
	OfJSON   = "application/json"
	OfYAML   = "application/yaml"
	ofText   = "text/plain"
	OfEvents = "text/event-stream"
	OfForm   = "multipart/form-data"
)

// Says is a form that answers a T as JSON.
func Says[T any](query ...Parameter) Form {
	return Form{Query: query}.OrSays(OfJSON, reflect.TypeFor[T]())
}

// SaysText is a form that answers text.
func SaysText(query ...Parameter) Form {
	return Form{Query: query}.OrSays(ofText, reflect.TypeFor[string]())
}

// OrSays is f with an answer of another content type.
func (f Form) OrSays(contentType string, of reflect.Type) Form {
	f.Answers = append(slices.Clone(f.Answers), Media{contentType, of})
	return f
}

// Reads is f with a body, a B, as JSON.
func Reads[B any](f Form) Form { return f.OrReads(OfJSON, reflect.TypeFor[B]()) }

// OrReads is f with a body of another content type.
func (f Form) OrReads(contentType string, of reflect.Type) Form {
	f.Bodies = append(slices.Clone(f.Bodies), Media{contentType, of})
	return f
}

// Lists is the form of a list of items.
func Lists[T any](more ...Parameter) Form {
	return Says[httpapi.Page[T]](append([]Parameter{PageSize, PageOffset, PartOfName}, more...)...)
}

// Document is one document in JSON: of Kuma's envelope, or of that of Kubernetes.
type Document struct{}

// JSONSchema refers to what the description says of all kinds.
func (Document) JSONSchema() Schema { return jsonschema.RefTo("Document") }

// KubernetesDocument is one document in the envelope of Kubernetes.
type KubernetesDocument struct{}

// JSONSchema refers to what the description says of the envelope.
func (KubernetesDocument) JSONSchema() Schema { return jsonschema.RefTo("KubernetesDocument") }

// Anything is an object of whose members the API says nothing.
type Anything struct{}

// JSONSchema allows any members.
func (Anything) JSONSchema() Schema { return Schema{"type": "object", "additionalProperties": true} }
