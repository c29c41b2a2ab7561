package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

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
// surrogate pairs and long keys.)
func splitJSON(file string, text []byte) ([]document, *Violation) {
	if !looksLikeJSON(text) {
		return nil, wrongText(file, 1, "the text is no JSON; begin it with {")
	}
	r := &jsonReader{text: text, line: 1, dec: json.NewDecoder(bytes.NewReader(text))}
	r.dec.UseNumber()
	var docs []document
	for {
		n, err := r.value(0)
		if errors.Is(err, io.EOF) && n == nil {
			return docs, nil
		}
		if err != nil {
			return nil, wrongText(file, r.line, fmt.Sprintf("the text is no JSON: %v; correct it", err))
		}
		s := Source{File: file, Line: n.Line, Text: text[r.start:r.dec.InputOffset()]}
		if len(s.Text) > MaxDocument && n.Kind != yaml.SequenceNode {
			return nil, wrongText(file, n.Line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(s.Text), MaxDocument))
		}
		shift(n, n.Line-1)
		docs = append(docs, document{s, n})
	}
}

// jsonReader builds nodes from the tokens of a JSON text.
type jsonReader struct {
	text  []byte
	dec   *json.Decoder
	at    int // everything before is counted in line and bol
	line  int
	bol   int // where the current line begins
	start int // of the outermost value
}

// value reads one value; nil and io.EOF at the end of the text.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	n, tok, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		r.start = r.at
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", maxDepth)
	}
	switch tok := tok.(type) {
	case json.Delim:
		return n, r.members(n, tok, depth)
	case string:
		n.Tag, n.Value, n.Style = "!!str", tok, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!int", tok.String()
		if bytes.ContainsAny([]byte(n.Value), ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", fmt.Sprint(tok)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}

// members reads what stands in a map or list, and its end.
func (r *jsonReader) members(n *yaml.Node, open json.Delim, depth int) error {
	n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
	if open == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for r.dec.More() {
		v, err := r.value(depth + 1)
		if err != nil {
			return noEOF(err)
		}
		n.Content = append(n.Content, v)
	}
	_, _, err := r.token()
	return noEOF(err)
}

// token reads a token; the node has the place where it begins.
func (r *jsonReader) token() (*yaml.Node, json.Token, error) {
	from := int(r.dec.InputOffset())
	tok, err := r.dec.Token()
	if err != nil {
		r.count(int(r.dec.InputOffset()))
		return nil, nil, err
	}
	for bytes.IndexByte([]byte(" \t\r\n,:"), r.text[from]) >= 0 {
		from++
	}
	r.count(from)
	return &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: from - r.bol + 1}, tok, nil
}

// count moves on to offset, counting lines.
func (r *jsonReader) count(offset int) {
	for ; r.at < offset; r.at++ {
		if r.text[r.at] == '\n' {
			r.line, r.bol = r.line+1, r.at+1
		}
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("it ends too early")
	}
	return err
}

// shift makes the lines of n count from its own first line.
func shift(n *yaml.Node, by int) {
	n.Line -= by
	for _, c := range n.Content {
		shift(c, by)
	}
}
