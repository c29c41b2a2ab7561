package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/go-multierror"
)

// MaxSmall is the most of the body of a question.
const MaxSmall = 256 << 10

// Read reads a small JSON body, strictly: a field that is not known may be a
// misspelled one.
func Read(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := Body(w, r, MaxSmall)
	if err != nil {
		return err
	}
	return DecodeBody(body, into)
}

// ReadLeniently is read for what clients of other versions ask, also later ones
// of Kuma: fields that are not known are left out, with a warning in the header.
func ReadLeniently(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := Body(w, r, MaxSmall)
	if err != nil {
		return err
	}
	err = DecodeBody(body, into)
	var many *multierror.Error
	fields := map[string]json.RawMessage{}
	if !errors.As(err, &many) || json.Unmarshal(body, &fields) != nil {
		return err
	}
	for _, e := range many.Errors {
		var unknown unknownField
		if errors.As(e, &unknown) && fields[unknown.name] != nil { // else it is one of a part
			delete(fields, unknown.name)
			Warn(w, "unknown field "+unknown.name+" is ignored")
		}
	}
	if body, err = json.Marshal(fields); err != nil {
		return err
	}
	return DecodeBody(body, into)
}

// Warn adds a warning to an answer whose header is not written yet (RFC 7234 5.5).
func Warn(w http.ResponseWriter, text string) {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' {
			return '?'
		}
		return r
	}, Truncate(text))
	if len(w.Header().Values("Warning")) < mostWarnings {
		w.Header().Add("Warning", `299 weft "`+text+`"`)
	}
}

const mostWarnings = 16

// unknownField is a field that nothing knows.
type unknownField struct {
	ProblemDetails
	name string
}

// Unwrap makes it the problem that it is.
func (u unknownField) Unwrap() error { return u.ProblemDetails }

// DecodeBody reads one JSON object, strictly. All that is wrong with its fields comes at once,
// as a *multierror.Error, and into has the others.
func DecodeBody(body []byte, into any) error {
	err := decodeOne(body, into)
	fields := map[string]json.RawMessage{}
	if err == nil {
		return nil
	}
	if json.Unmarshal(body, &fields) != nil {
		return mistakeIn("", err)
	}
	var wrong *multierror.Error
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		alone, err := json.Marshal(map[string]json.RawMessage{name: fields[name]})
		if err != nil {
			return fmt.Errorf("read a field again: %w", err)
		}
		if err := decodeOne(alone, reflect.New(reflect.TypeOf(into).Elem()).Interface()); err != nil {
			wrong = multierror.Append(wrong, mistakeIn(name, err))
			continue
		}
		_ = decodeOne(alone, into) // as it was just read
	}
	if wrong == nil {
		return mistakeIn("", err)
	}
	return wrong
}

func decodeOne(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	switch {
	case err == nil && !errors.Is(d.Decode(new(json.RawMessage)), io.EOF):
		return BadField("", "there is more than one JSON value; send a single object")
	case errors.Is(err, io.EOF):
		return BadField("", "the body is empty; send a JSON object")
	}
	return err
}

// mistakeIn is what decoding says of a field of a body, or of the body, whose name is empty. A
// type that reads itself says where it is wrong before a colon.
func mistakeIn(name string, err error) error {
	if p, ok := errors.AsType[ProblemDetails](err); ok {
		return p
	}
	if field, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		field = strings.Trim(field, `"`)
		return unknownField{BadField(field, "unknown field; correct its name, or leave it out"), field}
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && name != "" {
		if _, below, ok := strings.Cut(wrong.Field, name+"."); ok { // before it stand types that are a part of the body's
			name += "." + below
		}
		return BadField(name, "a "+wrong.Value+" does not fit; write "+kindText(wrong.Type))
	}
	if at, reason, ok := strings.Cut(err.Error(), ": "); ok && name != "" && strings.HasPrefix(at, name+".") {
		return BadField(at, reason)
	}
	return BadField(name, "the body is not JSON of the right form: "+err.Error())
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

// Body is the whole body of a request. One that is too large, or that breaks off,
// is the fault of its sender.
func Body(w http.ResponseWriter, r *http.Request, most int64) ([]byte, error) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil && !IsBodyError(err) {
		err = BadField("", "the body cannot be read: "+err.Error()+"; send it again")
	}
	return bytes.Clone(text), err // of its own length: a document keeps its text
}

// IsBodyError reports whether an error says by itself what was wrong with a body: it was too large,
// or too much came at once.
func IsBodyError(err error) bool {
	var tooLarge *http.MaxBytesError
	var busy ProblemDetails
	return errors.As(err, &tooLarge) || errors.As(err, &busy)
}
