// Package syntax reads texts of YAML and JSON into documents, finds the place of a path in them, and
// edits them without losing comments. It knows no kind: package decode understands what is read.
package syntax

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
)

// MaxDocument is the size in bytes that one document may have.
const MaxDocument = 1 << 20

// ErrNoDocuments says that a text holds nothing but space and comments.
var ErrNoDocuments = errors.New("no documents")

// Document is one document of a text, parsed but not understood.
type Document struct {
	api.Source
	Root *yaml.Node
}

// PositionOf is where node stands in the file.
func (d *Document) PositionOf(n *yaml.Node) api.Position {
	return api.Position{File: d.File, Line: n.Line + d.Line - 1, Column: n.Column}
}

// Documents parses a text document by document, so that a long stream needs the
// room of one. One that cannot be parsed is a violation and does not stop the
// others.
func Documents(file string, text []byte) iter.Seq2[*Document, *api.Violation] {
	return func(yield func(*Document, *api.Violation) bool) {
		text = bytes.TrimPrefix(text, []byte("\ufeff"))
		if !utf8.Valid(text) {
			yield(nil, Invalid(file, 1, "the text is not UTF-8; save it as UTF-8"))
			return
		}
		for chunk := range Chunks(file, text) {
			if len(chunk.Text) > MaxDocument && LooksLikeJSON(chunk.Text) {
				if !splitLarge(chunk, yield) {
					return
				}
				continue
			}
			docs, err := parse(chunk)
			if err != nil && !yield(nil, err) {
				return
			}
			for _, d := range docs {
				for i := range d {
					if !yield(&d[i], nil) {
						return
					}
				}
			}
		}
	}
}

// parse reads what stands between two markers: one YAML document, or JSON
// values. Each is a document, or a list of documents.
func parse(s api.Source) ([][]Document, *api.Violation) {
	docs, jsonErr := SplitJSON(s)
	if jsonErr != nil {
		root, err := parseYAML(s)
		if err != nil && LooksLikeJSON(s.Text) {
			return nil, jsonErr
		}
		if err != nil || root == nil {
			return nil, err
		}
		docs = []Document{{s, root}}
	}
	var out [][]Document
	for _, d := range docs {
		if d.Root.Tag != "!!null" {
			out = append(out, d.items())
		}
	}
	return out, nil
}

// items are the documents that stand in a list: a JSON array, or the items of
// a Kubernetes List. Any other document is itself.
func (d Document) items() []Document {
	list, at := d.Root, api.Path("")
	if d.Root.Kind == yaml.MappingNode && ScalarOf(Member(d.Root, "kind")) == "List" {
		list, at = Member(d.Root, "items"), "items"
	}
	if list == nil || list.Kind != yaml.SequenceNode {
		return []Document{d}
	}
	out := make([]Document, len(list.Content))
	for i, n := range list.Content {
		out[i] = Document{d.Source, n}
		out[i].Item = at.Index(i)
	}
	return out
}

// Chunks cuts a YAML stream at its markers. Line by line is enough: YAML
// forbids a marker at the start of a line inside of any scalar.
func Chunks(file string, text []byte) iter.Seq[api.Source] {
	return func(yield func(api.Source) bool) {
		cutAtMarkers(text, func(line int, part []byte) bool {
			return blank(part) || yield(api.Source{File: file, Line: line, Text: part})
		})
	}
}

// cutAtMarkers calls found for every part, with the line that it begins on.
func cutAtMarkers(text []byte, found func(line int, part []byte) bool) {
	start, first, line := 0, 1, 1
	for at := 0; at < len(text); line++ {
		end := at + len(text[at:])
		if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		this := bytes.TrimRight(text[at:end], " \t\r\n")
		bare := bytes.Equal(this, []byte("---")) || bytes.Equal(this, []byte("..."))
		if bare || bytes.HasPrefix(this, []byte("--- ")) || bytes.HasPrefix(this, []byte("---\t")) {
			if !found(first, text[start:at]) {
				return
			}
			start, first = at, line
		}
		if bare {
			start, first = end, line+1
		}
		at = end
	}
	found(first, text[start:])
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

// parseYAML parses the text of one document; nil where it is empty.
func parseYAML(s api.Source) (root *yaml.Node, err *api.Violation) {
	if len(s.Text) > MaxDocument {
		return nil, Invalid(s.File, s.Line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(s.Text), MaxDocument))
	}
	// The parser panics on some broken texts; that is no reason to stop.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, Invalid(s.File, s.Line, "the text cannot be parsed; correct it")
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

// tabbed reports whether line n of a text, counted from 0, is indented by a tab.
func tabbed(s api.Source, n int) bool {
	lines := strings.SplitN(string(s.Text), "\n", n+2)
	if n >= len(lines) {
		return false
	}
	text := lines[n]
	return strings.Contains(text[:len(text)-len(strings.TrimLeft(text, " \t"))], "\t")
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

// wrongYAML turns an error of the parser into a violation at its line.
func wrongYAML(s api.Source, err error) *api.Violation {
	line, message := s.Line, err.Error()
	if m := yamlLine.FindStringSubmatch(message); m != nil {
		message = message[len(m[0]):]
		if n, e := strconv.Atoi(m[1]); e == nil {
			line += n - 1
		}
	}
	if message == "found character that cannot start any token" && tabbed(s, line-s.Line) {
		return Invalid(s.File, line, "a tab indents this line, which YAML does not allow; indent it by spaces")
	}
	if strings.HasPrefix(message, "unknown anchor") { // the parser quotes it
		message = "an alias (*name) has no anchor (&name) before it"
	}
	return Invalid(s.File, line, "the text is not valid YAML: "+message+"; correct it")
}

// Invalid is a violation of a text that is no document yet.
func Invalid(file string, line int, message string) *api.Violation {
	return &api.Violation{Position: api.Position{File: file, Line: line, Column: 1}, Code: "Syntax", Severity: api.Error, Message: message}
}

// MaxDepth is how deep maps and lists may nest in a document.
const MaxDepth = 100
