package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
)

// LooksLikeJSON reports whether a text is meant as JSON.
func LooksLikeJSON(text []byte) bool {
	t := bytes.TrimLeft(text, " \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[')
}

// SplitJSON reads a text of JSON values, one after the other, into the nodes
// that YAML would give. (YAML's own parser refuses some JSON, such as
// surrogate pairs and long keys, and is slower.)
func SplitJSON(source api.Source) ([]Document, *api.Violation) {
	text, before := source.Text, source.Line-1
	if !LooksLikeJSON(text) {
		return nil, Invalid(source.File, source.Line, "the text is not valid JSON; begin it with {")
	}
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	r.dec.UseNumber()
	var docs []Document
	for {
		n, err := r.value(0)
		if errors.Is(err, io.EOF) && len(docs) > 0 {
			return docs, nil
		}
		if err == nil && n.Kind == yaml.ScalarNode {
			err = errors.New("a map or a list belongs here")
		}
		if err != nil {
			return nil, Invalid(source.File, before+r.lineOf(err), fmt.Sprintf("the text is not valid JSON: %s; correct it", unquoted(err)))
		}
		s := api.Source{File: source.File, Line: before + n.Line, Text: text[r.start:r.dec.InputOffset()]}
		if len(s.Text) > MaxDocument && n.Kind != yaml.SequenceNode {
			return nil, Invalid(source.File, s.Line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(s.Text), MaxDocument))
		}
		shift(n, n.Line-1)
		docs = append(docs, Document{s, n})
	}
}

// jsonReader builds nodes from the tokens of a JSON text.
type jsonReader struct {
	dec   *json.Decoder
	text  []byte
	start int64 // of the value that was read last, at depth 0
	// at is how far lines are counted; line is the line there, bol where it begins.
	at, bol int64
	line    int
}

// token reads the next token into a node that has its place.
func (r *jsonReader) token() (json.Token, *yaml.Node, error) {
	for ; r.at < int64(len(r.text)) && bytes.IndexByte([]byte(" \t\r\n,:"), r.text[r.at]) >= 0; r.at++ {
		if r.text[r.at] == '\n' {
			r.line, r.bol = r.line+1, r.at+1
		}
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Line: r.line, Column: int(r.at-r.bol) + 1}
	t, err := r.dec.Token()
	r.at = r.dec.InputOffset() // a token holds no line break
	return t, n, err
}

// lineOf is where reading failed.
func (r *jsonReader) lineOf(err error) int {
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) {
		return 1 + bytes.Count(r.text[:min(int(wrong.Offset), len(r.text))], []byte("\n"))
	}
	return r.line
}

// value reads one value.
func (r *jsonReader) value(depth int) (*yaml.Node, error) {
	t, n, err := r.token()
	if err != nil {
		return nil, err
	}
	if depth == 0 {
		r.start = r.at - 1 // a bracket, or else no document
	}
	return n, r.fill(n, t, depth)
}

// fill makes n what the token t begins.
func (r *jsonReader) fill(n *yaml.Node, t json.Token, depth int) error {
	switch t := t.(type) {
	case json.Delim:
		return r.members(n, t, depth)
	case string:
		n.Tag, n.Style, n.Value = "!!str", yaml.DoubleQuotedStyle, t
	case json.Number:
		n.Tag, n.Value = "!!int", t.String()
		if strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!float"
		}
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(t)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return nil
}

// members reads what stands in a map or list, and its end.
func (r *jsonReader) members(n *yaml.Node, begin json.Delim, depth int) error {
	if depth >= MaxDepth {
		return fmt.Errorf("it nests deeper than %d levels", MaxDepth)
	}
	n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
	if begin == '[' {
		n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
	}
	for {
		t, member, err := r.token()
		if errors.Is(err, io.EOF) {
			return errEnds
		}
		if err != nil {
			return err
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			return nil
		}
		if err := r.fill(member, t, depth+1); err != nil {
			return err
		}
		n.Content = append(n.Content, member)
	}
}

var otherCharacter = regexp.MustCompile(`^invalid character '(\\.*|[^][{},:"])' `)

// unquoted is the message of an error of the parser, which quotes a character of
// the text: only one of JSON's own is shown.
func unquoted(err error) string {
	return otherCharacter.ReplaceAllString(err.Error(), "invalid character ")
}

var errEnds = errors.New("it ends too early")

// shift makes the lines of n count from its own first line.
func shift(n *yaml.Node, by int) {
	n.Line -= by
	for _, c := range n.Content {
		shift(c, by)
	}
}
