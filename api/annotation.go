package api

import (
	"maps"
	"slices"
	"strings"
)

// Annotation are those whose names begin with Prefix, by which documents ask other programs
// for something.
type Annotation struct {
	Prefix string
	// Instead says why it has no effect and what to write; empty where weft does what it asks.
	Instead string
}

// AnnotationNotes say of annotations of o which of them have no effect. The first of the list
// that fits a name holds.
func AnnotationNotes(o *Object, list []Annotation) []Note {
	if o.Meta == nil {
		return nil
	}
	var out []Note
	for _, name := range slices.Sorted(maps.Keys(o.Meta.Annotations)) {
		i := annotationOf(list, name)
		if i < 0 || list[i].Instead == "" {
			continue
		}
		at := Path("metadata.annotations").Key(name)
		out = append(out, Note{Origin: &Origin{Ref: o.Ref, Field: at}, Severity: Warning, Code: CodeUnsupported, Field: at, Message: "weft does not read it, so it has no effect: " + list[i].Instead})
	}
	return out
}

// annotationOf is which of a list an annotation is; negative for none.
func annotationOf(list []Annotation, name string) int {
	return slices.IndexFunc(list, func(a Annotation) bool { return strings.HasPrefix(name, a.Prefix) })
}

// keeps reports whether what an annotation says matters of documents of the type.
func (t *Type) keeps(name string) bool {
	return t.Meta && IsOwnAnnotation(name) || annotationOf(t.Annotations, name) >= 0
}

// Annotated are those of all that matter of documents of the type; nil for none.
func (t *Type) Annotated(all map[string]string) map[string]string {
	var out map[string]string
	for name, text := range all {
		if t.keeps(name) {
			if out == nil {
				out = map[string]string{}
			}
			out[name] = text
		}
	}
	return out
}

// LinkerdAnnotations are those by which Linkerd is told how requests to target are treated:
// a Service, or a route.
func LinkerdAnnotations(target string) []Annotation {
	policy := func(what string) string { return "write a " + what + " that targets the " + target }
	return []Annotation{
		{"timeout.linkerd.io/request", policy("MeshTimeout with default.http.requestTimeout")},
		{"timeout.linkerd.io/response", policy("MeshTimeout with default.http.requestTimeout, which bounds the whole answer,")},
		{"timeout.linkerd.io/idle", policy("MeshTimeout with default.http.streamIdleTimeout")},
		{"timeout.linkerd.io/", policy("MeshTimeout with default.http")},
		{"retry.linkerd.io/http", policy("MeshRetry with default.http.retryOn")},
		{"retry.linkerd.io/grpc", policy("MeshRetry with default.grpc.retryOn")},
		{"retry.linkerd.io/limit", policy("MeshRetry with default.http.numRetries")},
		{"retry.linkerd.io/timeout", policy("MeshRetry with default.http.perTryTimeout")},
		{"retry.linkerd.io/", policy("MeshRetry with default.http")},
		{"balancer.linkerd.io/", "weft leaves no endpoint out because of what it answered; remove it"},
	}
}
