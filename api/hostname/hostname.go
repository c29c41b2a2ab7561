// Package hostname reads the templates of HostnameGenerators (spec/kubernetes.md 3.9).
//
// They are written in the language of text/template, of which a template may use two things:
// a field of the service, {{ .DisplayName }}, {{ .Name }}, {{ .Namespace }} or {{ .Zone }},
// and one of its labels, {{ label "key" }}. All else is refused when a template is read, so
// what it makes costs no more than its length.
package hostname

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"text/template/parse"
)

// longest is how many characters a name has at most, and longestLabel each part of it
// (RFC 1035, 2.3.4).
const (
	longest      = 253
	longestLabel = 63
)

// A part of a name begins with an underscore in records of services, never in hosts.
var valid = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// Template is one that was read.
type Template struct{ parts []part }

// part is text, a field or a label.
type part struct{ text, field, label string }

// Service is what a template may ask of a service.
type Service struct {
	DisplayName, Name, Namespace, Zone string

	// Label is the label under key; not ok where there is none.
	Label func(key string) (value string, ok bool)
}

// Parse reads a template.
func Parse(text string) (*Template, error) {
	trees, err := parse.Parse("", text, "", "", map[string]any{"label": true})
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: :"))
	}
	t := &Template{}
	tree := trees[""]
	if len(trees) > 1 || tree == nil {
		return nil, errors.New("defines another template; write one name")
	}
	for _, n := range tree.Root.Nodes {
		p, err := read(n)
		if err != nil {
			return nil, err
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// read is what one node of a template stands for.
func read(n parse.Node) (part, error) {
	refused := fmt.Errorf("has %s; use {{ .DisplayName }}, {{ .Name }}, {{ .Namespace }}, {{ .Zone }} and {{ label \"key\" }}", clip(n.String()))
	if text, ok := n.(*parse.TextNode); ok {
		return part{text: string(text.Text)}, nil
	}
	action, ok := n.(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 {
		return part{}, refused
	}
	args := action.Pipe.Cmds[0].Args
	if field, ok := args[0].(*parse.FieldNode); ok && len(args) == 1 && len(field.Ident) == 1 {
		switch field.Ident[0] {
		case "DisplayName", "Name", "Namespace", "Zone":
			return part{field: field.Ident[0]}, nil
		}
	}
	if f, ok := args[0].(*parse.IdentifierNode); ok && f.Ident == "label" && len(args) == 2 {
		if key, ok := args[1].(*parse.StringNode); ok && key.Text != "" {
			return part{label: key.Text}, nil
		}
	}
	return part{}, refused
}

// Name is what a template makes of a service: a name of DNS, in lower case. An error says
// what the service lacks, or what is no name.
func (t *Template) Name(s Service) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		switch {
		case p.label != "":
			value, ok := s.Label(p.label)
			if !ok {
				return "", fmt.Errorf("the service has no label %s", clip(p.label))
			}
			b.WriteString(value)
		case p.field != "":
			b.WriteString(map[string]string{"DisplayName": s.DisplayName, "Name": s.Name, "Namespace": s.Namespace, "Zone": s.Zone}[p.field])
		default:
			b.WriteString(p.text)
		}
		if b.Len() > longest {
			return "", fmt.Errorf("it makes a name of more than %d characters", longest)
		}
	}
	name := strings.ToLower(b.String())
	if err := check(name); err != nil {
		return "", err
	}
	return name, nil
}

// check says why a text is no name of DNS.
func check(name string) error {
	if _, err := netip.ParseAddr(name); err == nil || !valid.MatchString(name) {
		return fmt.Errorf("it makes %q, which is no host name", clip(name))
	}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) > longestLabel {
			return fmt.Errorf("it makes %q, in which a part has more than %d characters", clip(name), longestLabel)
		}
	}
	return nil
}

// clip bounds what a message repeats.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}
