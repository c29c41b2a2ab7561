package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// maxDepth is how deep maps and lists may nest in a document.
const maxDepth = 100

// looksLikeJSON reports whether a text is meant as JSON.
func looksLikeJSON(text []byte) bool {
	t := bytes.TrimLeft(text, " \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[')
}

// splitJSON reads a text of JSON values, one after the other, into the nodes
// that YAML would give. (YAML's own parser refuses some JSON, such as
// surrogate pairs and long keys, and is slower.)
func splitJSON(source Source) ([]document, *Violation) {
	text, before := source.Text, source.Line-1
	if !looksLikeJSON(text) {
		return nil, wrongText(source.File, source.Line, "the text is no JSON; begin it with {")
	}
	r := &jsonReader{text: text, line: 1}
	var docs []document
	for r.space(); r.at < len(text); r.space() {
		start := r.at
		n, err := r.value(0)
		if err == nil && n.Kind == yaml.ScalarNode {
			err = errors.New("a map or a list belongs here")
		}
		if err != nil {
			return nil, wrongText(source.File, before+r.line, fmt.Sprintf("the text is no JSON: %v; correct it", err))
		}
		s := Source{File: source.File, Line: before + n.Line, Text: text[start:r.at]}
		if len(s.Text) > MaxDocument && n.Kind != yaml.SequenceNode {
			return nil, wrongText(source.File, s.Line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(s.Text), MaxDocument))
		}
		shift(n, n.Line-1)
		docs = append(docs, document{s, n})
	}
	return docs, nil
}

// jsonReader builds nodes from a JSON text, which is UTF-8.
type jsonReader struct {
	text []byte
	at   int
	line int
	bol  int // where the current line begins
}

var errEnds = errors.New("it ends too early")

// space skips white space, counting lines.
func (r *jsonReader) space() {
	for ; r.at < len(r.text); r.at++ {
		switch r.text[r.at] {
		case '\n':
			r.line, r.bol = r.line+1, r.at+1
		case ' ', '\t', '\r':
		default:
			return
		}
	}
}

// value reads the value that begins here.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	if r.at == len(r.text) {
		return nil, errEnds
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: r.at - r.bol + 1}
	switch c := r.text[r.at]; {
	case depth > maxDepth:
		return nil, fmt.Errorf("it nests deeper than %d levels", maxDepth)
	case c == '{':
		n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
		return n, r.members(n, '}', depth)
	case c == '[':
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
		return n, r.members(n, ']', depth)
	case c == '"':
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
		return n, r.quoted(n)
	}
	return n, r.word(n)
}

// members reads what stands in a map or list, and its end.
func (r *jsonReader) members(n *yaml.Node, end byte, depth int) error {
	r.at++
	for r.space(); !r.is(end); r.space() {
		if len(n.Content) > 0 {
			if !r.is(',') {
				return r.unexpected(", or " + string(end))
			}
			r.at++
			r.space()
		}
		if end == '}' {
			if err := r.key(n, depth); err != nil {
				return err
			}
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return err
		}
		n.Content = append(n.Content, v)
	}
	r.at++
	return nil
}

// key reads the name of a member and the colon after it.
func (r *jsonReader) key(n *yaml.Node, depth int) error {
	if !r.is('"') {
		return r.unexpected(`a name in "quotes"`)
	}
	k, err := r.value(depth + 1)
	if err != nil {
		return err
	}
	n.Content = append(n.Content, k)
	if r.space(); !r.is(':') {
		return r.unexpected(":")
	}
	r.at++
	r.space()
	return nil
}

func (r *jsonReader) is(c byte) bool { return r.at < len(r.text) && r.text[r.at] == c }

func (r *jsonReader) unexpected(want string) error {
	if r.at == len(r.text) {
		return errEnds
	}
	c, _ := utf8.DecodeRune(r.text[r.at:])
	return fmt.Errorf("%q stands where %s belongs", c, want)
}

// quoted reads a text in quotes.
func (r *jsonReader) quoted(n *yaml.Node) error {
	start, escaped := r.at, false
	for r.at++; !r.is('"'); r.at++ {
		if r.is('\\') {
			escaped = true
			r.at++
		}
		if r.at >= len(r.text) {
			r.at = len(r.text)
			return errEnds
		}
		if r.text[r.at] < ' ' {
			return errors.New("a line break or control character stands inside of a text")
		}
	}
	r.at++
	if !escaped {
		n.Value = string(r.text[start+1 : r.at-1])
		return nil
	}
	if err := json.Unmarshal(r.text[start:r.at], &n.Value); err != nil {
		return errors.New(`a text has an escape that JSON does not know`)
	}
	return nil
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// word reads a number, true, false or null.
func (r *jsonReader) word(n *yaml.Node) error {
	start := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte(" \t\r\n,:]}[{\""), r.text[r.at]) < 0 {
		r.at++
	}
	n.Value = string(r.text[start:r.at])
	switch {
	case n.Value == "true" || n.Value == "false":
		n.Tag = "!!bool"
	case n.Value == "null":
		n.Tag = "!!null"
	case jsonNumber.MatchString(n.Value) && strings.ContainsAny(n.Value, ".eE"):
		n.Tag = "!!float"
	case jsonNumber.MatchString(n.Value):
		n.Tag = "!!int"
	case n.Value == "":
		return r.unexpected("a value")
	default:
		return fmt.Errorf("%q is no value", Clip(n.Value))
	}
	return nil
}

// shift makes the lines of n count from its own first line.
func shift(n *yaml.Node, by int) {
	n.Line -= by
	for _, c := range n.Content {
		shift(c, by)
	}
}
