// Package documents injects sidecars into the pods of documents, as `weft inject` does
// without a cluster: Pods, and the templates of what makes Pods, in a List too.
//
// It promises that every document comes out, in order; that one that does not change is
// printed as it was written, byte for byte; and that in one that changes all else stays,
// with comments and with fields that weft does not know.
package documents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/syntax"
	"github.com/weftmesh/weft/sidecar/inject"
)

// Result is what becomes of documents.
type Result struct {
	Workloads []Workload
	// Violations of documents that cannot be read.
	Violations []*api.Violation
	texts      []text
}

// Workload is a pod, or what makes pods, and what happens to it.
type Workload struct {
	Ref      api.Ref
	Decision inject.Decision
	// Hook is the webhook that a cluster would call for the pod; empty where it calls none.
	Hook string
	// Violations are warnings, and what refuses the pod, with their places.
	Violations []*api.Violation
}

// text is one file of documents.
type text struct {
	decode.Text
	parts   []part
	changed bool
}

// part is one document, and how it is printed.
type part struct {
	api.Source
	json    []byte // empty where it cannot be read
	objects []object
	printed []byte
}

// Settings are what is known beside the documents.
type Settings struct {
	inject.Config
	Namespace string // of documents that name none
}

// Inject injects into all documents of some texts. Namespaces and Meshes among them are
// taken for all that there are; a Namespace without a document counts as labelled enabled.
func Inject(s Settings, texts ...decode.Text) Result {
	var r Result
	for _, t := range texts {
		one := text{Text: t}
		for source, wrong := range decode.Parts(t.File, t.Text) {
			if wrong != nil {
				r.Violations = append(r.Violations, wrong)
				continue
			}
			p, wrong := read(source, s.Namespace)
			if wrong != nil {
				r.Violations = append(r.Violations, wrong)
			}
			one.parts = append(one.parts, p)
		}
		r.texts = append(r.texts, one)
	}
	w := r.world(&s)
	for i := range r.texts {
		for j := range r.texts[i].parts {
			p := &r.texts[i].parts[j]
			r.Workloads = append(r.Workloads, p.inject(s, w, &r)...)
			r.texts[i].changed = r.texts[i].changed || !bytes.Equal(p.printed, p.Text)
		}
	}
	return r
}

// Documents counts the documents, those of a List as one.
func (r Result) Documents() int {
	n := 0
	for _, t := range r.texts {
		n += len(t.parts)
	}
	return n
}

// All are the violations of all documents.
func (r Result) All() []*api.Violation {
	out := slices.Clone(r.Violations)
	for _, w := range r.Workloads {
		out = append(out, w.Violations...)
	}
	return out
}

// Text are the documents as a stream of YAML.
func (r Result) Text() []byte {
	var out bytes.Buffer
	add := func(text []byte) {
		if out.Len() > 0 && !bytes.HasPrefix(text, []byte("---")) {
			out.WriteString("---\n")
		}
		out.Write(text)
		if !bytes.HasSuffix(text, []byte("\n")) {
			out.WriteByte('\n')
		}
	}
	for _, t := range r.texts {
		switch {
		case t.changed:
			for _, p := range t.parts {
				add(p.printed)
			}
		case len(t.parts) > 0:
			add(t.Text.Text)
		}
	}
	return out.Bytes()
}

// surroundings are what documents say of the world of the others: the Namespaces.
type surroundings map[string]*object

// namespace is the one of a name.
func (w surroundings) namespace(name string) inject.Namespace {
	if o, ok := w[name]; ok {
		return inject.Namespace{Name: name, Labels: o.Metadata.Labels, Annotations: o.Metadata.Annotations}
	}
	return inject.Assumed(name)
}

// locate is the place of a field of a namespace; the file of o where it has no document.
func (w surroundings) locate(name string, field api.Path, o *object) api.Position {
	if ns, ok := w[name]; ok {
		return syntax.Locate(ns.source, field)
	}
	return api.Position{File: o.source.File}
}

// world reads Namespaces and Meshes. Where there is a Mesh document, those and the
// default one are all meshes.
func (r *Result) world(s *Settings) surroundings {
	out, meshes := surroundings{}, map[string]bool{}
	for _, t := range r.texts {
		for _, p := range t.parts {
			for i := range p.objects {
				o := &p.objects[i]
				switch {
				case o.APIVersion == "v1" && o.Kind == "Namespace":
					out[o.Metadata.Name] = o
				case o.Kind == api.KindMesh:
					meshes[o.Metadata.Name] = true
				case o.Type == api.KindMesh:
					meshes[fmt.Sprint(o.Name)] = true
				}
			}
		}
	}
	if len(meshes) > 0 {
		meshes[api.DefaultMesh] = true
		s.Meshes = slices.Sorted(maps.Keys(meshes))
	}
	return out
}

// JSON are the documents, each as JSON.
func (r Result) JSON() ([]json.RawMessage, error) {
	out := []json.RawMessage{}
	for _, t := range r.texts {
		for _, p := range t.parts {
			text, err := yaml.YAMLToJSON(p.printed)
			if err != nil {
				return nil, fmt.Errorf("print %s: %w", p.File, err)
			}
			out = append(out, text)
		}
	}
	return out, nil
}
