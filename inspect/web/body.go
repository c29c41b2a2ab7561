package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// read reads a small JSON body, strictly: a field that is not known may be a
// misspelled one.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := Body(w, r, maxSmall)
	if err != nil {
		return err
	}
	return decodeBody(body, into)
}

// readLeniently is read for what clients of other versions ask, also later ones
// of Kuma: fields that are not known are left out, with a warning in the header.
func readLeniently(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := Body(w, r, maxSmall)
	if err != nil {
		return err
	}
	for {
		err := decodeBody(body, into)
		var unknown unknownField
		if !errors.As(err, &unknown) {
			return err
		}
		fields := map[string]json.RawMessage{}
		if json.Unmarshal(body, &fields) != nil || fields[unknown.name] == nil {
			return err // it is one of a part
		}
		delete(fields, unknown.name)
		if body, err = json.Marshal(fields); err != nil {
			return err
		}
		Warn(w, "unknown field "+unknown.name+" is ignored")
	}
}

// Warn adds a warning to an answer whose header is not written yet (RFC 7234 5.5).
func Warn(w http.ResponseWriter, text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, truncate(text))
	if len(w.Header().Values("Warning")) < mostWarnings {
		w.Header().Add("Warning", `299 weft "`+text+`"`)
	}
}

const mostWarnings = 16

// unknownField is a field that nothing knows.
type unknownField struct {
	problem
	name string
}

// Unwrap makes it the problem that it is.
func (u unknownField) Unwrap() error { return u.problem }

// decodeBody reads one JSON value, strictly.
func decodeBody(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	switch {
	case err == nil && !errors.Is(d.Decode(new(json.RawMessage)), io.EOF):
		return badField("", "there is more than one JSON value; send a single object")
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		return badField("", "the body is empty; send a JSON object")
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		name := strings.Trim(field, `"`)
		return unknownField{badField(name, "unknown field; correct its name, or leave it out"), name}
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		name := strings.ToLower(wrong.Field[:1]) + wrong.Field[1:] // some have no name but Go's
		return badField(name, "a "+wrong.Value+" does not fit; write "+kindText(wrong.Type))
	}
	return badField("", "the body is not JSON of the right form: "+err.Error())
}

// kindText names what JSON is read into a type.
func kindText(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a text in quotes"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Int, reflect.Int64, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	}
	return "a " + t.String()
}
