// Package apitest holds what an HTTP server answers against its own OpenAPI document.
package apitest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Document is an OpenAPI 3.1 document by which answers are judged. It may be asked by many
// at once.
type Document struct {
	Paths      map[string]map[string]Operation
	Components struct{ Schemas map[string]any }

	mux      *http.ServeMux
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

// Operation is one endpoint.
type Operation struct {
	Parameters  []Parameter
	RequestBody struct {
		Content map[string]struct{ Schema any }
	}
	Responses map[string]Response
}

// Parameter is one of the path or the query.
type Parameter struct {
	Name, In, Style string
	Schema          map[string]any
}

// Response is one answer.
type Response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema any }
}

const address = "weft:openapi.json"

// Read reads a document.
func Read(text []byte) (*Document, error) {
	d := &Document{mux: http.NewServeMux(), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	whole, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(address, whole); err != nil {
		return nil, err
	}
	for path, methods := range d.Paths {
		for method := range methods {
			pattern := strings.ToUpper(method) + " " + path
			if path == "/" {
				pattern += "{$}"
			}
			d.mux.Handle(pattern, http.NotFoundHandler())
		}
	}
	return d, nil
}

// Find is the path of the document that a request is for, and its operation; false where
// there is none.
func (d *Document) Find(r *http.Request) (path string, o Operation, ok bool) {
	_, pattern := d.mux.Handler(r)
	_, path, ok = strings.Cut(strings.TrimSuffix(pattern, "{$}"), " ")
	if !ok {
		return "", o, false
	}
	method := strings.ToLower(r.Method)
	if method == "head" {
		method = "get"
	}
	o, ok = d.Paths[path][method]
	return path, o, ok
}

// Check is what is wrong with an answer: a status or a content type that the document does
// not say, or a body that it says otherwise. A failure to answer, from 400 on, is judged of
// whatever path; of others only those of the document. The pages of the GUI are no part of it.
func (d *Document) Check(r *http.Request, status int, contentType string, body []byte) error {
	if r.URL.Path == "/gui" || strings.HasPrefix(r.URL.Path, "/gui/") {
		return nil
	}
	at := fmt.Sprintf("%s %s: %d", r.Method, r.URL, status)
	path, o, ok := d.Find(r)
	kind, _, _ := mime.ParseMediaType(contentType)
	if status >= http.StatusBadRequest {
		if kind != "application/json" {
			return fmt.Errorf("%s is of type %q: %s", at, contentType, body)
		}
		return d.validate(at, "#/components/schemas/Error", body)
	}
	if !ok {
		return nil
	}
	answer, ok := o.Responses[strconv.Itoa(status)]
	if !ok {
		return fmt.Errorf("%s is not described", at)
	}
	if _, ok := answer.Content[kind]; !ok {
		return fmt.Errorf("%s: type %q is not described: %.200s", at, contentType, body)
	}
	if kind != "application/json" || r.Method == http.MethodHead {
		return nil
	}
	pointer := "#/paths/" + token(path) + "/" + strings.ToLower(r.Method) + "/responses/" + strconv.Itoa(status) + "/content/" + token(kind) + "/schema"
	return d.validate(at, pointer, body)
}

// token is a part of a JSON pointer in a fragment of a URL.
func token(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", "+", "%2B").Replace(name)
}

// Validate is what is wrong with a value by the component of that name.
func (d *Document) Validate(component string, text []byte) error {
	return d.validate(component, "#/components/schemas/"+component, text)
}

func (d *Document) validate(at, pointer string, text []byte) error {
	s, err := d.schema(pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w: %.200s", at, err, text)
	}
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%s: %w\n%.2000s", at, d.nearer(value, err), text)
	}
	return nil
}

// nearer is what is wrong with a document by the schema of its type alone, where err says it
// of all types.
func (d *Document) nearer(value any, err error) error {
	fields, _ := value.(map[string]any)
	items, _ := fields["items"].([]any)
	for _, v := range append(items, value) {
		fields, _ := v.(map[string]any)
		kind, _ := fields["type"].(string)
		if s, unknown := d.schema("#/components/schemas/" + kind); kind != "" && unknown == nil {
			if e := s.Validate(v); e != nil {
				return e
			}
		}
	}
	return err
}

func (d *Document) schema(pointer string) (*jsonschema.Schema, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s, ok := d.schemas[pointer]; ok {
		return s, nil
	}
	s, err := d.compiler.Compile(address + pointer)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", pointer, err)
	}
	d.schemas[pointer] = s
	return s, nil
}

// Handler is next, of whose answers report is told what is wrong. Streams are passed on.
func (d *Document) Handler(next http.Handler, report func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, o, ok := d.Find(r); ok && o.Responses["200"].Content["text/event-stream"].Schema != nil {
			next.ServeHTTP(w, r)
			return
		}
		kept := httptest.NewRecorder()
		next.ServeHTTP(kept, r)
		if err := d.Check(r, kept.Code, kept.Header().Get("Content-Type"), kept.Body.Bytes()); err != nil {
			report(err)
		}
		for k, v := range kept.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(kept.Code)
		_, _ = w.Write(kept.Body.Bytes()) // who has gone misses nothing
	})
}
