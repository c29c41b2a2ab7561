package httpapi

import (
	"encoding/json"
	"net/http"
	"sync"
)

// JSONAppender is an answer that prints itself, as encoding/json would print it: what an object prints
// for encoding/json is read once more, letter by letter.
type JSONAppender interface {
	AppendJSON(to []byte) ([]byte, error)
}

// printing are the texts of printed answers, of which each may be megabytes.
var printing = sync.Pool{New: func() any { return new([]byte) }}

// Answer writes a JSON body.
func Answer(w http.ResponseWriter, status int, body any) {
	out := &jsonWriter{w: w, status: status}
	if err := out.print(body); err != nil && !out.begun {
		Write(w, http.StatusInternalServerError, "application/json", []byte(`{"type":"/std-errors","status":500,"title":"Internal error","detail":"the answer cannot be written"}`+"\n"))
	}
}

// jsonWriter answers with what is written at once, as an encoder does that has found no error.
type jsonWriter struct {
	w      http.ResponseWriter
	status int
	begun  bool
}

func (j *jsonWriter) print(body any) error {
	p, ok := body.(JSONAppender)
	if !ok {
		return json.NewEncoder(j).Encode(body)
	}
	room := printing.Get().(*[]byte)
	defer printing.Put(room)
	text, err := p.AppendJSON((*room)[:0])
	if err != nil {
		return err
	}
	*room = append(text, '\n')
	_, err = j.Write(*room)
	return err
}

// Write sends a text with the status of the answer.
func (j *jsonWriter) Write(text []byte) (int, error) {
	j.begun = true
	Write(j.w, j.status, "application/json", text)
	return len(text), nil
}

// Write sends a whole answer.
func Write(w http.ResponseWriter, status int, contentType string, body []byte) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that has gone is no failure of ours
}

// Reply answers what package inspect says.
func Reply(w http.ResponseWriter, v any, err error) error {
	if err != nil {
		return Unknown(err)
	}
	Answer(w, http.StatusOK, v)
	return nil
}
