package web

import (
	"reflect"
	"slices"

	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/web/httpapi"
)

// form is what an endpoint takes and answers, as GET /_openapi.json describes it.
type form struct {
	query   []parameter
	bodies  []media // of a request, one for each content type
	answers []media
	// created says that a PUT answers 201 where there was nothing.
	created bool
}

// media is a body of one content type.
type media struct {
	contentType string
	of          reflect.Type
}

// parameter is one of the query.
type parameter struct {
	name, about string
	schema      schema
	// deep is one whose values are given as name[key]=value.
	deep bool
	// required says what to do where it is not given; empty where it may be left out.
	required string
	// reads is why a value that fits the schema is none all the same; nil for one that always is.
	reads func(string) error
}

const (
	ofJSON   = "application/json"
	ofYAML   = "application/yaml"
	ofText   = "text/plain"
	ofEvents = "text/event-stream"
	ofForm   = "multipart/form-data"
)

// says is a form that answers a T as JSON.
func says[T any](query ...parameter) form {
	return form{query: query}.orSays(ofJSON, reflect.TypeFor[T]())
}

// saysText is a form that answers text.
func saysText(query ...parameter) form {
	return form{query: query}.orSays(ofText, reflect.TypeFor[string]())
}

// orSays is f with an answer of another content type.
func (f form) orSays(contentType string, of reflect.Type) form {
	f.answers = append(slices.Clone(f.answers), media{contentType, of})
	return f
}

// reads is f with a body, a B, as JSON.
func reads[B any](f form) form { return f.orReads(ofJSON, reflect.TypeFor[B]()) }

func (f form) orReads(contentType string, of reflect.Type) form {
	f.bodies = append(slices.Clone(f.bodies), media{contentType, of})
	return f
}

// writes is the form of a PUT of one document.
func writes() form {
	f := says[accepted](inNamespace, inMesh)
	f.created = true
	doc := reflect.TypeFor[Document]()
	return f.orReads(ofJSON, doc).orReads(ofYAML, doc)
}

// removes is the form of a DELETE of one document.
func removes() form {
	return says[removed](inNamespace, inMesh, dryRun, withFields).orSays(ofJSON, reflect.TypeFor[planned]())
}

// lists is the form of a list of items.
func lists[T any](more ...parameter) form {
	return says[httpapi.Page[T]](append([]parameter{pageSize, pageOffset, partOfName}, more...)...)
}

// The parameters of queries.
var (
	pageSize    = parameter{name: "size", about: "How many items the page holds at most", schema: schema{"type": "integer", "minimum": 1, "maximum": largestPage, "default": defaultPage}}
	statusSize  = parameter{name: "size", about: "How many objects to tell of at most; all where it is not given", schema: schema{"type": "integer", "minimum": 1, "maximum": largestPage}}
	explainSize = parameter{name: "size", about: "How many outbounds to tell of at most; all where it is not given", schema: schema{"type": "integer", "minimum": 1, "maximum": largestPage}}
	pageOffset  = parameter{name: "offset", about: "How many items come before the page", schema: schema{"type": "integer", "minimum": 0, "default": 0}}
	partOfName  = parameter{name: "name", about: "A part of the names of the items", schema: text(253)}
	partOfID    = parameter{name: "name", about: "A part of the ids of the destinations of the outbounds to tell of", schema: text(1024)}
	byKind      = parameter{name: "kind", about: "Only policies and routes of these kinds, separated by commas", schema: text(1024)}
	byFare      = parameter{name: "state", about: "fine: only what is as it should be; problem: only what is not", schema: oneOf(string(inspect.FaresWell), string(inspect.FaresBadly))}
	byLabels    = parameter{name: "filter", about: "Labels that the items carry, all of them: filter[labels.KEY]=VALUE", deep: true,
		schema: schema{"type": "object", "additionalProperties": text(253), "propertyNames": schema{"pattern": `^labels\..+$`}}}
	byTags = parameter{name: "tag", about: "Tags of an inbound or of the gateway, all of them, as KEY:PART of the value; of dataplanes only",
		schema: jsonschema.ListOf(schema{"type": "string", "pattern": "^[^:]+:", "maxLength": 1024})}
	byGateway      = parameter{name: "gateway", about: "Whether the dataplane is a gateway, or of which kind; of dataplanes only", schema: oneOf("true", "false", "delegated", "builtin")}
	inNamespace    = parameter{name: "namespace", about: "The namespace of the object, where its name is not NAME.NAMESPACE", schema: text(253)}
	inMesh         = parameter{name: "mesh", about: "The mesh of the object, where the path names none", schema: text(253)}
	dryRun         = parameter{name: "dryRun", about: "Write nothing, and answer what would change", schema: schema{"type": "boolean", "default": false}}
	restoreRevoked = parameter{name: "restoreRevoked", about: "Also take revocations of identities back, which a rollback leaves as they are otherwise", schema: dryRun.schema}
	withFields     = parameter{name: "include", about: "With dryRun: diff, what changes in each of Envoy's resources, field by field", schema: oneOf("diff")}
	asReal         = parameter{name: "shadow", about: "With dryRun: plan documents with kuma.io/effect: shadow as if they took part", schema: schema{"type": "boolean", "default": false}}
	inFormat       = parameter{name: "format", about: "universal: as readers see it; kubernetes: in the envelope of Kubernetes; written: as its writer gave it", schema: oneOf("universal", "kubernetes", "k8s", "written")}
	itemFormat     = parameter{name: "format", about: "written: as the writer of each gave it", schema: oneOf("universal", "written")}
	asText         = parameter{name: "format", about: "The form of the answer", schema: oneOf("text", "json")}
	ofType         = parameter{name: "type", about: "Services of one type", schema: oneOf(serviceTypes...)}
	fromCaller     = parameter{name: "from", about: "One dataplane that calls, by its name", schema: text(1024)}
	toCalled       = parameter{name: "to", about: "One service that is called, as kuma.io/service names it", schema: text(1024)}
	withCounts     = parameter{name: "counts", about: "Whether Envoys are asked what shadows of permissions would have refused, at most 50 of them", schema: schema{"type": "boolean", "default": false}}
	toService      = parameter{name: "to", about: "One destination: its id, its name, or name:port", schema: text(1024)}
	inBrief        = parameter{name: "brief", about: "Without what policies say at outbounds", schema: schema{"type": "boolean", "default": false}}
	fromFile       = parameter{name: "file", about: "The file that the body comes from, for messages", schema: text(maxFileName)}
	prune          = parameter{name: "prune", about: "Labels K=V,K=V of what goes in the meshes of the documents unless it is among them", schema: text(4096),
		reads: func(text string) error { _, err := selectorOf(text); return err }}
)

func text(most int) schema { return schema{"type": "string", "maxLength": most} }

func oneOf(words ...string) schema { return schema{"type": "string", "enum": words} }

// Document is one document in JSON: of Kuma's envelope, or of that of Kubernetes.
type Document struct{}

// JSONSchema refers to what the description says of all kinds.
func (Document) JSONSchema() schema { return jsonschema.RefTo("Document") }

// KubernetesDocument is one document in the envelope of Kubernetes.
type KubernetesDocument struct{}

// JSONSchema refers to what the description says of the envelope.
func (KubernetesDocument) JSONSchema() schema { return jsonschema.RefTo("KubernetesDocument") }

// anything is an object of whose members the API says nothing.
type anything struct{}

// JSONSchema allows any members.
func (anything) JSONSchema() schema { return schema{"type": "object", "additionalProperties": true} }

// shows is the form of a GET of one document.
func shows(more ...parameter) form {
	return says[Document](append([]parameter{inFormat}, more...)...).orSays(ofJSON, reflect.TypeFor[KubernetesDocument]())
}

// listsDocuments is the form of a list of documents.
func listsDocuments(more ...parameter) form {
	return lists[Document](append([]parameter{byLabels, itemFormat}, more...)...)
}

// applies is the form of a POST of many documents.
func applies() form {
	f := says[applied](dryRun, fromFile, prune, asReal, withFields).orSays(ofJSON, reflect.TypeFor[planned]())
	return f.orReads(ofYAML, reflect.TypeFor[string]()).orReads(ofJSON, reflect.TypeFor[[]Document]()).orReads(ofForm, reflect.TypeFor[map[string]string]())
}
