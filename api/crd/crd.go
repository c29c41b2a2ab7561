// Package crd makes of a type of document its CustomResourceDefinition
// (spec/kubernetes.md 1): names, columns and the structural schema that an API server
// prunes, defaults and validates by, before it asks anybody.
//
// It promises that the schema accepts and keeps what the decoder and the validation of
// the type accept: it is read from the same Go types, and bounds nothing that they do not.
//
// It refuses to know kinds: all that one is stands in its api.Type.
package crd

import (
	"reflect"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/jsonschema"
)

// BundleVersion is the annotation by which weft knows definitions of its own, and of
// which version they are.
const BundleVersion = "weft.io/bundle-version"

// Definition is a CustomResourceDefinition of apiextensions.k8s.io/v1, as JSON prints it.
type Definition struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata is that of a Definition.
type Metadata struct {
	Name        string            `json:"name"` // plural.group
	Annotations map[string]string `json:"annotations"`
}

// Spec says what the kind is called and which versions it has: one that is stored, and those
// that documents may still say.
type Spec struct {
	Group      string     `json:"group"`
	Names      Names      `json:"names"`
	Scope      string     `json:"scope"` // Cluster or Namespaced
	Conversion Conversion `json:"conversion"`
	Versions   []Version  `json:"versions"`
}

// Names are those of the kind.
type Names struct {
	Kind       string   `json:"kind"`
	ListKind   string   `json:"listKind"`
	Plural     string   `json:"plural"`
	Singular   string   `json:"singular"`
	ShortNames []string `json:"shortNames,omitempty"`
	Categories []string `json:"categories,omitempty"`
}

// Conversion is how one version becomes another: not at all.
type Conversion struct {
	Strategy string `json:"strategy"`
}

// Version is one version of the kind.
type Version struct {
	Name         string       `json:"name"`
	Served       bool         `json:"served"`
	Storage      bool         `json:"storage"`
	Deprecated   bool         `json:"deprecated,omitempty"`
	Warning      string       `json:"deprecationWarning,omitempty"` // what kubectl says to who writes it
	Subresources Subresources `json:"subresources"`
	Columns      []Column     `json:"additionalPrinterColumns"`
	Schema       Schema       `json:"schema"`
}

// Subresources are the parts of an object that have an address of their own.
type Subresources struct {
	Status struct{} `json:"status"`
}

// Column is a column of `kubectl get`.
type Column struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	JSONPath string `json:"jsonPath"`
}

// Schema holds the structural schema.
type Schema struct {
	Root jsonschema.Schema `json:"openAPIV3Schema"`
}

// All are the definitions of the types that weft defines, in the order of the catalogue:
// its own, and those of the bundles that with names.
func All(c *api.Catalog, version string, with ...string) []Definition {
	var out []Definition
	for _, t := range c.Types() {
		if d := t.Custom; d != nil && (d.With == "" || slices.Contains(with, d.With)) {
			out = append(out, Of(c, t, version))
		}
	}
	return out
}

// Bundles are the words that All takes, sorted.
func Bundles(c *api.Catalog) []string {
	var out []string
	for _, t := range c.Types() {
		if t.Custom != nil && t.Custom.With != "" {
			out = append(out, t.Custom.With)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Of is the definition of a type that has one. Version is that of weft.
func Of(c *api.Catalog, t api.Type, version string) Definition {
	group, name, _ := strings.Cut(t.APIVersion(), "/")
	scope := "Namespaced"
	if t.Global && !t.Custom.Namespaced || t.Unscoped {
		scope = "Cluster"
	}
	return Definition{
		APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition",
		Metadata: Metadata{Name: t.Plural + "." + group, Annotations: map[string]string{BundleVersion: version}},
		Spec: Spec{
			Group: group, Names: names(t), Scope: scope, Conversion: Conversion{"None"},
			Versions: versions(t, Version{Name: name, Served: true, Storage: true, Columns: columns(t), Schema: Schema{root(c, t)}}),
		},
	}
}

// versions are the one that is stored, and those that documents may still say, which are
// read alike.
func versions(t api.Type, stored Version) []Version {
	out := []Version{stored}
	for _, name := range t.Deprecated {
		v := stored
		v.Name, v.Storage, v.Deprecated, v.Warning = name, false, true, t.In(name)+" "+t.Name+" is an older version; write "+t.APIVersion()
		out = append(out, v)
	}
	return out
}

func names(t api.Type) Names {
	out := Names{Kind: t.Name, ListKind: t.Name + "List", Plural: t.Plural, Singular: strings.ToLower(t.Name), Categories: t.Custom.Categories}
	for _, short := range append([]string{t.Short}, t.Custom.Short...) {
		if short != out.Singular && short != out.Plural {
			out.ShortNames = append(out.ShortNames, short)
		}
	}
	return out
}

func columns(t api.Type) []Column {
	var out []Column
	for _, c := range t.Custom.Columns {
		out = append(out, Column{c.Name, c.Type, c.Path})
	}
	return append(out, Column{"Age", "date", ".metadata.creationTimestamp"})
}

// root is the schema of a whole document.
func root(c *api.Catalog, t api.Type) jsonschema.Schema {
	items, length := t.Bounds()
	own := bounds{items, length}
	spec := own.structural(jsonschema.OfSpec(c, t))
	if t.Custom.Open {
		spec[preserve] = true
	}
	members := jsonschema.Schema{
		"apiVersion": jsonschema.Text(), "kind": jsonschema.Text(), "metadata": jsonschema.Schema{"type": "object"},
		"spec": spec, "status": bounds{api.MaxItems, api.MaxLength}.structural(jsonschema.Of(reflect.TypeOf(t.Custom.Status))),
	}
	if t.Custom.InMesh {
		members["mesh"] = jsonschema.Schema{"type": "string", "maxLength": api.MaxLength}
	}
	about := explain(t.Name)
	for _, name := range []string{"spec", "status"} {
		about.describe(members[name].(jsonschema.Schema), name, "")
	}
	out := jsonschema.Schema{"type": "object", "properties": members, "description": about.fields[""]}
	if api.Refuses(t.New().Validate("spec")) { // what says nothing is not sound
		out["required"] = []string{"spec"}
	}
	if t.DNSLabel {
		out.Rule(api.NameRule)
	}
	return out
}
