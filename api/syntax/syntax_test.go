package syntax_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// TestDocuments: a text is cut into its documents wherever a marker stands, each with the line on which it
// begins, whether or not the text ends with a line break; what cannot be read takes nothing else with it.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1\nb: 2\n---\nc: 3\n":            "1:1 {a: 1, b: 2}; 4:1 {c: 3}",
		"a: 1\nb: 2\n---\nc: 3":              "1:1 {a: 1, b: 2}; 4:1 {c: 3}",
		"--- {a: 1}\n--- {b: 2}":             "1:5 {a: 1}; 2:5 {b: 2}",
		"---\n# nothing\n---\n\na: 1\n...\n": "5:1 {a: 1}",
		"a: 1\r\n---\r\nb: 2\r\n":            "1:1 {a: 1}; 3:1 {b: 2}",
		"a: |\n  x\n  ---\n---\nb: 2\n":      `1:1 {a: "x\n---\n"}; 5:1 {b: 2}`,
		"a: [\n---\nb: 2\n":                  "broken 1; 3:1 {b: 2}",
		"- {a: 1}\n- {b: 2}\n":               "1:3 {a: 1}; 2:3 {b: 2}",
		"kind: List\nitems:\n- a: 1\n":       "3:3 {a: 1}",
	} {
		if got := documents(text); got != want {
			t.Errorf("%q has %s, want %s", text, got, want)
		}
	}
}

// TestJSON: JSON is read to its end and to every depth, with the place of each part; where it is broken, the
// line says so, however deep that is.
func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1, "b": [true, null, {"c": "d"}], "e": -0.5}`: `1:1 {a: 1, b: [true, null, {c: "d"}], e: -0.5}`,
		"{\"a\": 1}\n{\"b\":\n [2, 3]}":                      "1:1 {a: 1}; 2:1 {b: [2, 3]}",
		`[{"a": 1}, {"b": 2}]`:                               "1:2 {a: 1}; 1:12 {b: 2}",
		"{\"a\": [1,\n [2,\n }]}":                            "broken 3",
		"{\"a\": [1,\n {\"b\": [1,\n":                        "broken 3",
		"{\"a\": " + strings.Repeat("[", syntax.MaxDepth):    "broken 1",
	} {
		if got := documents(text); got != want {
			t.Errorf("%q has %s, want %s", text, got, want)
		}
	}
}

// TestPlacesInJSON: whoever is told of a mistake in JSON finds it by line and column.
func TestPlacesInJSON(t *testing.T) {
	t.Parallel()
	docs, err := syntax.SplitJSON(api.Source{File: "f", Line: 11, Text: []byte("{\n \"a\": 1,\n \"b\": {\"c\": [true,\n   false]}\n}")})
	if err != nil || len(docs) != 1 {
		t.Fatal(docs, err)
	}
	list := syntax.Member(syntax.Member(docs[0].Root, "b"), "c")
	got := []api.Position{docs[0].PositionOf(docs[0].Root), docs[0].PositionOf(list), docs[0].PositionOf(list.Content[1])}
	if diff := cmp.Diff([]api.Position{{File: "f", Line: 11, Column: 1}, {File: "f", Line: 13, Column: 13}, {File: "f", Line: 14, Column: 4}}, got); diff != "" {
		t.Error(diff)
	}
}

// documents are those of a text, each behind the place where it begins, and the lines of what is broken.
func documents(text string) string {
	var out []string
	for d, broken := range syntax.Documents("f", []byte(text)) {
		if broken != nil {
			out = append(out, fmt.Sprintf("broken %d", broken.Line))
			continue
		}
		at := d.PositionOf(d.Root)
		out = append(out, fmt.Sprintf("%d:%d %s", at.Line, at.Column, nodeText(d.Root)))
	}
	return strings.Join(out, "; ")
}

// nodeText is a node in one line.
func nodeText(n *yaml.Node) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+nodeText(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, c := range n.Content {
			parts = append(parts, nodeText(c))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if n.Tag == "!!str" {
		return fmt.Sprintf("%q", n.Value)
	}
	return n.Value
}
