package spiffe

import (
	"errors"
	"fmt"

	"github.com/weftmesh/weft/api/template"
)

// The templates that a MeshIdentity has unless it says otherwise.
const (
	DefaultDomain         = "{{ .Mesh }}.{{ .Zone }}.mesh.local"
	DefaultKubernetesPath = "/ns/{{ .Namespace }}/sa/{{ .ServiceAccount }}"
	DefaultUniversalPath  = "/workload/{{ .Workload }}"
)

// Template makes the IDs of a MeshIdentity.
type Template struct{ domain, path *template.Template }

// Workload is what a template may ask of a dataplane. A field that is empty is missing.
type Workload struct {
	Mesh, Zone, Namespace, ServiceAccount, Workload string

	// Label is the label under key; not ok where there is none.
	Label func(key string) (value string, ok bool)
}

// ParseDomain reads the template of a trust domain. One that makes none, whatever stands in
// its places, is refused.
func ParseDomain(text string) (*template.Template, error) {
	return parse(text, CheckDomain, "Mesh", "Zone")
}

// ParsePath reads the template of a path, in the same way.
func ParsePath(text string) (*template.Template, error) {
	return parse(text, checkWorkloadPath, "Namespace", "ServiceAccount", "Workload")
}

// parse reads a template and tries it with the plainest value in every place.
func parse(text string, check func(string) error, fields ...string) (*template.Template, error) {
	t, err := template.Parse(text, fields...)
	if err != nil {
		return nil, err
	}
	plain := template.Input{Fields: map[string]string{}, Label: func(string) (string, bool) { return "x", true }}
	for _, f := range fields {
		plain.Fields[f] = "x"
	}
	made, err := t.Text(plain, longest)
	if err != nil {
		return nil, err
	}
	return t, check(made)
}

// checkWorkloadPath is checkPath for IDs of workloads.
func checkWorkloadPath(text string) error {
	if text == "" {
		return errors.New("it makes nothing, and the name of a trust domain is no workload's; write a path")
	}
	return checkPath(text)
}

// NewTemplate puts the templates of both parts together.
func NewTemplate(domain, path *template.Template) *Template { return &Template{domain, path} }

// ID is the name of a dataplane. An error says what the dataplane lacks, or why what the
// template makes is no ID; nothing is cleaned, so two dataplanes never come to share an
// ID by accident.
func (t *Template) ID(w Workload) (ID, error) {
	values := template.Input{Of: "the dataplane", Fields: map[string]string{}, Label: w.Label}
	for name, value := range map[string]string{"Mesh": w.Mesh, "Zone": w.Zone, "Namespace": w.Namespace, "ServiceAccount": w.ServiceAccount, "Workload": w.Workload} {
		if value != "" {
			values.Fields[name] = value
		}
	}
	domain, err := t.domain.Text(values, longest)
	if err != nil {
		return ID{}, fmt.Errorf("trustDomain: %w", err)
	}
	if err := CheckDomain(domain); err != nil {
		return ID{}, fmt.Errorf("trustDomain: %w", err)
	}
	path, err := t.path.Text(values, longest)
	if err != nil {
		return ID{}, fmt.Errorf("path: %w", err)
	}
	if err := checkWorkloadPath(path); err != nil {
		return ID{}, fmt.Errorf("path: %w", err)
	}
	id := ID{domain, path}
	if len(id.String()) > longest {
		return ID{}, fmt.Errorf("path: the ID has more than %d characters; shorten it", longest)
	}
	return id, nil
}
