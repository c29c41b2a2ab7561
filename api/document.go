package api

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// MaxDocument is the size in bytes that one document may have.
const MaxDocument = 1 << 20

// ErrNoDocuments says that a text holds nothing but space and comments.
var ErrNoDocuments = errors.New("no documents")

// document is one document of a text, parsed but not understood.
type document struct {
	Source
	root *yaml.Node
}

// place is where node stands in the file.
func (d *document) place(n *yaml.Node) Position {
	return Position{File: d.File, Line: n.Line + d.Line - 1, Column: n.Column}
}

// split parses a text into its documents. One that cannot be parsed becomes a
// violation and does not stop the others.
func split(file string, text []byte) ([]document, []*Violation) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, []*Violation{wrongText(file, 1, "the text is not UTF-8; save it as UTF-8")}
	}
	var docs []document
	var errs []*Violation
	whole, jsonErr := splitJSON(file, text)
	if jsonErr == nil {
		docs = whole
	}
	for _, s := range chunks(file, text) {
		if jsonErr == nil {
			break
		}
		root, err := parseSource(s)
		switch {
		case err != nil && looksLikeJSON(text):
			errs = append(errs, jsonErr)
		case err != nil:
			errs = append(errs, err)
		case root != nil:
			docs = append(docs, document{s, root})
		}
	}
	var out []document
	for _, d := range docs {
		if d.root.Tag != "!!null" {
			out = append(out, d.items()...)
		}
	}
	return out, errs
}

// items are the documents that stand in a list: a JSON array, or the items of
// a Kubernetes List. Any other document is itself.
func (d document) items() []document {
	list, at := d.root, Path("")
	if d.root.Kind == yaml.MappingNode && scalarOf(member(d.root, "kind")) == "List" {
		list, at = member(d.root, "items"), "items"
	}
	if list == nil || list.Kind != yaml.SequenceNode {
		return []document{d}
	}
	out := make([]document, len(list.Content))
	for i, n := range list.Content {
		out[i] = document{d.Source, n}
		out[i].Item = at.Index(i)
	}
	return out
}

// chunks cuts a YAML stream at its markers. Line by line is enough: YAML
// forbids a marker at the start of a line inside of any scalar.
func chunks(file string, text []byte) []Source {
	var out []Source
	start, first, line := 0, 1, 1
	cut := func(end int) {
		if part := text[start:end]; !blank(part) {
			out = append(out, Source{File: file, Line: first, Text: part})
		}
	}
	for at := 0; at < len(text); line++ {
		end := at + len(text[at:])
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		this := bytes.TrimRight(text[at:end], " \t\r\n")
		switch {
		case bytes.Equal(this, []byte("---")), bytes.Equal(this, []byte("...")):
			cut(at)
			start, first = end, line+1
		case bytes.HasPrefix(this, []byte("--- ")), bytes.HasPrefix(this, []byte("---\t")):
			cut(at)
			start, first = at, line
		}
		at = end
	}
	cut(len(text))
	return out
}

// blank reports whether a part of a stream has only space, comments and directives.
func blank(part []byte) bool {
	for line := range bytes.Lines(part) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("---")))
		if len(line) > 0 && line[0] != '#' && line[0] != '%' {
			return false
		}
	}
	return true
}

// parseSource parses the text of one document; nil where it is empty.
func parseSource(s Source) (root *yaml.Node, err *Violation) {
	if len(s.Text) > MaxDocument {
		return nil, wrongText(s.File, s.Line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(s.Text), MaxDocument))
	}
	// The parser panics on some broken texts; that is no reason to stop.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, wrongText(s.File, s.Line, fmt.Sprintf("the text cannot be parsed (%v); correct it", p))
		}
	}()
	var doc yaml.Node
	if e := yaml.Unmarshal(s.Text, &doc); e != nil {
		return nil, wrongYAML(s, e)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// wrongYAML turns an error of the parser into a violation at its line.
func wrongYAML(s Source, err error) *Violation {
	line, message := s.Line, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, e := strconv.Atoi(m[1]); e == nil {
			line += n - 1
		}
	}
	return wrongText(s.File, line, "the text is no YAML: "+message+"; correct it")
}

// wrongText is a violation of a text that is no document yet.
func wrongText(file string, line int, message string) *Violation {
	return &Violation{Position: Position{File: file, Line: line, Column: 1}, Code: "Syntax", Severity: Error, Message: message}
}
