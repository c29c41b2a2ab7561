package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/weftmesh/weft/api"
)

// splitLarge is parse for JSON that is larger than one document may be. What it is parsed into
// takes many times its room, so that a list is parsed item by item. It reports whether yield
// wants more.
func splitLarge(source api.Source, yield func(*Document, *api.Violation) bool) bool {
	if err := validJSON(source); err != nil {
		return yield(nil, err)
	}
	p := &place{text: source.Text, line: source.Line}
	dec := json.NewDecoder(bytes.NewReader(source.Text))
	for {
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return true // its end, as it is valid
		}
		start := dec.InputOffset() - int64(len(value))
		p.move(start)
		if value[0] == '[' {
			if !p.splitList(source.File, source.Text[start:dec.InputOffset()], yield) {
				return false
			}
			continue
		}
		if doc, err := p.parse(source.File, value); !yield(doc, err) {
			return false
		}
	}
}

// splitList is splitLarge for the list that begins here. Each item is a document with a text of
// its own: to find a place in it again nobody has to read the others.
func (p *place) splitList(file string, list []byte, yield func(*Document, *api.Violation) bool) bool {
	begin := p.at
	dec := json.NewDecoder(bytes.NewReader(list))
	if _, err := dec.Token(); err != nil {
		return true // it is valid
	}
	for dec.More() {
		var item json.RawMessage
		if err := dec.Decode(&item); err != nil {
			return true
		}
		p.move(begin + dec.InputOffset() - int64(len(item)))
		if doc, err := p.parse(file, item); !yield(doc, err) {
			return false
		}
	}
	return true
}

// validJSON reads all of a text, and keeps nothing.
func validJSON(source api.Source) *api.Violation {
	r := &jsonReader{text: source.Text, line: 1}
	dec := json.NewDecoder(bytes.NewReader(source.Text))
	for {
		var value json.RawMessage
		err := dec.Decode(&value)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil && value[0] != '{' && value[0] != '[' {
			err = errors.New("a map or a list belongs here")
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEnds
		}
		if err != nil {
			return Invalid(source.File, source.Line-1+r.lineOf(err), fmt.Sprintf("the text is not valid JSON: %s; correct it", unquoted(err)))
		}
	}
}

// place is a place in a text, as far as its lines are counted.
type place struct {
	text    []byte
	at, bol int64 // and where its line begins
	line    int
}

// move goes on to a place further on.
func (p *place) move(to int64) {
	for ; p.at < to; p.at++ {
		if p.text[p.at] == '\n' {
			p.line, p.bol = p.line+1, p.at+1
		}
	}
}

// parse is the value that begins here, as a document.
func (p *place) parse(file string, value []byte) (*Document, *api.Violation) {
	if len(value) > MaxDocument {
		return nil, Invalid(file, p.line, fmt.Sprintf("the document has %d bytes; at most %d are allowed", len(value), MaxDocument))
	}
	s := api.Source{File: file, Line: p.line, Text: p.text[p.at : p.at+int64(len(value))]}
	r := &jsonReader{dec: json.NewDecoder(bytes.NewReader(value)), text: value, line: 1, bol: p.bol - p.at}
	r.dec.UseNumber()
	n, err := r.value(0)
	if err != nil {
		return nil, Invalid(file, p.line, fmt.Sprintf("the text is not valid JSON: %s; correct it", unquoted(err)))
	}
	return &Document{s, n}, nil
}
