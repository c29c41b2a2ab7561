// Package template reads the templates that documents hold: of HostnameGenerators
// (spec/kubernetes.md 3.9) and of MeshIdentities (spec/identity.md 1.2).
//
// They are written in the language of text/template, of which a template may use two things:
// a field of those that its place knows, {{ .Name }}, and a label, {{ label "key" }}. All
// else is refused when a template is read, so what it makes costs no more than its length.
package template

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template/parse"
)

// Template is one that was read. It is immutable.
type Template struct{ parts []part }

// part is text, a field or a label.
type part struct{ text, field, label string }

// Input is what a template may ask.
type Input struct {
	// Of is whose values they are, as a message names it: "the service".
	Of string

	// Fields are the values of fields. Without one for a field that the template has,
	// nothing is made.
	Fields map[string]string

	// Label is the label under key; not ok where there is none.
	Label func(key string) (value string, ok bool)
}

// Parse reads a template that may use fields.
func Parse(text string, fields ...string) (*Template, error) {
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
		p, ok := read(n, fields)
		if !ok {
			return nil, fmt.Errorf("has %s; use %s", Clip(n.String()), offered(fields))
		}
		t.parts = append(t.parts, p)
	}
	return t, nil
}

// read is what one node of a template stands for; not ok where it may not be there.
func read(n parse.Node, fields []string) (part, bool) {
	if text, ok := n.(*parse.TextNode); ok {
		return part{text: string(text.Text)}, true
	}
	action, ok := n.(*parse.ActionNode)
	if !ok || len(action.Pipe.Decl) > 0 || len(action.Pipe.Cmds) != 1 {
		return part{}, false
	}
	args := action.Pipe.Cmds[0].Args
	if field, ok := args[0].(*parse.FieldNode); ok && len(args) == 1 && len(field.Ident) == 1 && slices.Contains(fields, field.Ident[0]) {
		return part{field: field.Ident[0]}, true
	}
	if f, ok := args[0].(*parse.IdentifierNode); ok && f.Ident == "label" && len(args) == 2 {
		if key, ok := args[1].(*parse.StringNode); ok && key.Text != "" {
			return part{label: key.Text}, true
		}
	}
	return part{}, false
}

// offered lists what a template may use.
func offered(fields []string) string {
	var b strings.Builder
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString("{{ ." + f + " }}")
	}
	return b.String() + ` and {{ label "key" }}`
}

// Text is what a template makes of values, at most longest bytes. An error says what the
// values lack.
func (t *Template) Text(v Input, longest int) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		text, err := p.of(v)
		if err != nil {
			return "", err
		}
		if b.WriteString(text); b.Len() > longest {
			return "", fmt.Errorf("it makes a name of more than %d characters", longest)
		}
	}
	return b.String(), nil
}

func (p part) of(v Input) (string, error) {
	switch {
	case p.label != "":
		value, ok := v.Label(p.label)
		if !ok {
			return "", fmt.Errorf("%s has no label %s", v.Of, Clip(p.label))
		}
		return value, nil
	case p.field != "":
		value, ok := v.Fields[p.field]
		if !ok {
			return "", fmt.Errorf("%s has no %s", v.Of, p.field)
		}
		return value, nil
	}
	return p.text, nil
}

// Clip bounds what a message repeats.
func Clip(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}
