package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// PrintJSON prints o as the API shows it (spec/kuma.md 5.1): type, mesh, name,
// labels, times, KRI, then the spec and the status. Decoding it gives o again. What
// has no form of Kuma's is printed as in Kubernetes.
func PrintJSON(c *api.Catalog, o *api.Object) ([]byte, error) { return printJSON(c, o, c.KRI(o)) }

// PrintDocument prints o as somebody writes it, in the envelope of Kubernetes where it
// has a namespace.
func PrintDocument(c *api.Catalog, o *api.Object) ([]byte, error) {
	if o.Namespace == "" {
		return printJSON(c, o, "")
	}
	plain := *o
	if plain.Mesh == api.DefaultMesh {
		plain.Mesh = ""
	}
	return PrintKubernetes(c, &plain)
}

func printJSON(c *api.Catalog, o *api.Object, kri string) ([]byte, error) {
	typ, ok := c.Type(o.Kind)
	if !ok {
		return nil, fmt.Errorf("print %s: unknown kind", o.Ref)
	}
	shown := *o
	if s, ok := o.Spec.(*api.Secret); ok && o.Namespace == "" && s.OfMesh() != nil {
		shown.Spec = s.OfMesh()
	} else if typ.Secret || typ.Cluster {
		return PrintKubernetes(c, o)
	}
	spec, status, err := bodies(&shown)
	if err != nil {
		return nil, err
	}
	var w members
	w.text("type", o.Kind)
	w.text("mesh", o.Mesh)
	w.text("namespace", o.Namespace)
	w.text("name", o.Name)
	w.labels(o.Labels)
	if err := w.annotations(o.Meta); err != nil {
		return nil, err
	}
	w.time("creationTime", o.Created)
	w.time("modificationTime", o.Modified)
	w.text("kri", kri)
	if typ.Flat {
		w.raw(spec[1 : len(spec)-1])
	} else {
		w.member("spec", spec)
	}
	if status != nil {
		w.member("status", status)
	}
	return w.end(), nil
}

// PrintKubernetes prints o in the envelope of Kubernetes.
func PrintKubernetes(c *api.Catalog, o *api.Object) ([]byte, error) {
	typ, ok := c.Type(o.Kind)
	if !ok {
		return nil, fmt.Errorf("print %s: unknown kind", o.Ref)
	}
	spec, status, err := bodies(o)
	if err != nil {
		return nil, err
	}
	labels := maps.Clone(o.Labels)
	if implied := (typ.Secret || typ.Cluster) && o.Mesh == api.DefaultMesh; o.Mesh != "" && labels[api.LabelMesh] == "" && !implied {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[api.LabelMesh] = o.Mesh
	}
	var meta members
	meta.text("name", o.Name)
	meta.text("namespace", o.Namespace)
	meta.labels(labels)
	meta.time("creationTimestamp", o.Created)
	if err := meta.kept(o.Meta); err != nil {
		return nil, err
	}
	var w members
	w.text("apiVersion", typ.APIVersion())
	w.text("kind", o.Kind)
	w.member("metadata", meta.end())
	if typ.Beside {
		w.raw(spec[1 : len(spec)-1])
	} else {
		w.member("spec", spec)
	}
	if status != nil {
		w.member("status", status)
	}
	return w.end(), nil
}

// PrintYAML prints what PrintJSON prints, as YAML.
func PrintYAML(c *api.Catalog, o *api.Object) ([]byte, error) {
	text, err := PrintJSON(c, o)
	if err != nil {
		return nil, err
	}
	return ToYAML(text)
}

// ToYAML turns JSON into YAML in the same order.
func ToYAML(text []byte) ([]byte, error) {
	docs, wrong := syntax.SplitJSON(api.Source{Text: text, Line: 1})
	if wrong != nil {
		return nil, wrong
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	for _, d := range docs {
		syntax.Block(d.Root)
		if err := enc.Encode(d.Root); err != nil {
			return nil, fmt.Errorf("print YAML: %w", err)
		}
	}
	return out.Bytes(), enc.Close()
}

// bodies are the spec and the status as JSON.
func bodies(o *api.Object) (spec, status []byte, err error) {
	if spec, err = json.Marshal(o.Spec); err != nil {
		return nil, nil, fmt.Errorf("print %s: %w", o.Ref, err)
	}
	if o.Status != nil {
		if status, err = json.Marshal(o.Status); err != nil {
			return nil, nil, fmt.Errorf("print the status of %s: %w", o.Ref, err)
		}
	}
	return spec, status, nil
}

// members writes the members of one JSON object.
type members struct{ bytes.Buffer }

func (w *members) raw(text []byte) {
	if len(text) == 0 {
		return
	}
	if w.Len() > 0 {
		w.WriteByte(',')
	}
	w.Write(text)
}

func (w *members) member(name string, value []byte) {
	w.raw([]byte(`"` + name + `":`))
	w.Write(value)
}

func (w *members) text(name, value string) {
	if value != "" {
		w.member(name, quote(value))
	}
}

func (w *members) time(name string, t time.Time) {
	if !t.IsZero() {
		w.text(name, t.UTC().Format(time.RFC3339Nano))
	}
}

func (w *members) labels(labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	var l members
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		l.raw(slices.Concat(quote(k), []byte(":"), quote(labels[k])))
	}
	w.member("labels", l.end())
}

func (w *members) end() []byte { return slices.Concat([]byte("{"), w.Bytes(), []byte("}")) }

// quote is text as JSON.
func quote(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err) // text always marshals
	}
	return out
}
