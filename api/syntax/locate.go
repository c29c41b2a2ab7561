package syntax

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
)

// InKubernetes reports whether a document has the envelope of Kubernetes.
func InKubernetes(root *yaml.Node) bool {
	return Member(root, "apiVersion") != nil || Member(root, "kind") != nil && Member(root, "type") == nil
}

// Locate is the place of the field at path, or of its nearest ancestor that
// the text of s has. It parses the text again: it is for findings, not for hot paths.
func Locate(s api.Source, path api.Path) api.Position { return Locator(s)(path) }

// Locator is Locate for many findings on one text, which it parses once.
func Locator(s api.Source) func(api.Path) api.Position {
	if len(s.Text) == 0 {
		return func(api.Path) api.Position { return api.Position{File: s.File} }
	}
	d := parseAgain(s)
	if d.Root == nil {
		return func(api.Path) api.Position { return api.Position{File: s.File, Line: s.Line, Column: 1} }
	}
	return d.Locate
}

// SpecPath is where the fields stand that a document of a type without a spec has beside its name:
// in the form of Kubernetes under spec.
func SpecPath(s api.Source) api.Path {
	if len(s.Text) == 0 {
		return ""
	}
	if root := parseAgain(s).Root; root != nil && InKubernetes(root) {
		return "spec"
	}
	return ""
}

// LabelPath is where a label stands in the document's envelope.
func LabelPath(s api.Source, key string) api.Path {
	if root := parseAgain(s).Root; root != nil && InKubernetes(root) {
		return api.Path("metadata.labels").Key(key)
	}
	return api.Path("labels").Key(key)
}

// parseAgain reads the text again; it has no root where that is not possible.
func parseAgain(s api.Source) *Document {
	d := &Document{Source: s}
	if docs, err := SplitJSON(s); err == nil && len(docs) == 1 {
		d.Root = docs[0].Root
	} else {
		d.Root, _ = parseYAML(s)
	}
	if d.Root != nil {
		_, d.Root = Walk(d.Root, s.Item)
	}
	return d
}

// Locate is the place of the field at path: of its value, or of its key where
// the value begins on a later line.
func (d *Document) Locate(path api.Path) api.Position {
	at, _ := Walk(d.Root, path)
	return d.PositionOf(at)
}

// Walk follows path down from n as far as it leads: the node that marks the
// place, and the value there.
func Walk(n *yaml.Node, path api.Path) (at, value *yaml.Node) {
	at, value = n, n
	rest := string(path)
	for rest != "" {
		var name string
		var index int
		name, index, rest = step(rest)
		value = Target(value)
		var next, mark *yaml.Node
		switch {
		case name == "" && value.Kind == yaml.SequenceNode && index >= 0 && index < len(value.Content):
			next = value.Content[index]
			mark = next
		case value.Kind == yaml.MappingNode:
			for i := 0; i+1 < len(value.Content); i += 2 {
				if value.Content[i].Value == name {
					next = value.Content[i+1]
					mark = Beside(value.Content[i], next)
				}
			}
		}
		if next == nil {
			return at, value
		}
		at, value = mark, next
	}
	return at, Target(value)
}

// step takes the first step off a path: a name, or an index where name is empty. Keys
// may stand in brackets without quotes, as Kubernetes writes them.
func step(path string) (name string, index int, rest string) {
	path = strings.TrimPrefix(path, ".")
	if strings.HasPrefix(path, `["`) {
		quoted, err := strconv.QuotedPrefix(path[1:])
		if err == nil {
			name, _ = strconv.Unquote(quoted)
			return name, -1, strings.TrimPrefix(path[1+len(quoted):], "]")
		}
	}
	if strings.HasPrefix(path, "[") {
		number, rest, _ := strings.Cut(path[1:], "]")
		index, err := strconv.Atoi(number)
		if err != nil {
			return number, -1, rest
		}
		return "", index, rest
	}
	if i := strings.IndexAny(path, ".["); i > 0 {
		return path[:i], -1, path[i:]
	}
	return path, -1, ""
}

// Beside is the node that marks the place of a field.
func Beside(key, value *yaml.Node) *yaml.Node {
	if value.Line == key.Line {
		return value
	}
	return key
}

// Target is what an alias stands for.
func Target(n *yaml.Node) *yaml.Node {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

// Member is the value of a key of a map; nil where it has none, or is none.
func Member(n *yaml.Node, key string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n = Target(n); n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return Target(n.Content[i+1])
			}
		}
	}
	return nil
}

// ScalarOf is the text of a scalar; empty where n is none.
func ScalarOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
