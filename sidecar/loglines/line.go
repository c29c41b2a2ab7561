package loglines

import (
	"bytes"
	"encoding/json"
	"strings"

	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// nothing is what Envoy writes where a command finds nothing.
const nothing = "-"

// read is who receives a record, and its line; not ok where it is none of weft's.
func read(body *commonv1.AnyValue) (to string, line []byte, ok bool) {
	var text, object *commonv1.AnyValue
	omits := false
	for _, m := range body.GetKvlistValue().GetValues() {
		switch m.GetKey() {
		case bootstrap.LogTo:
			to = m.GetValue().GetStringValue()
		case bootstrap.LogOmits:
			omits = true
		case bootstrap.LogText:
			text = m.GetValue()
		case bootstrap.LogObject:
			object = m.GetValue()
		}
	}
	switch {
	case to == "":
	case text != nil:
		line = plain(partsOf(text), omits)
	case object != nil:
		line = objectLine(object, omits)
	}
	return to, append(bytes.TrimSuffix(line, []byte("\n")), '\n'), len(line) > 0
}

func partsOf(v *commonv1.AnyValue) []*commonv1.KeyValue { return v.GetKvlistValue().GetValues() }

// plain is a text. What a client sent begins no line of its own.
func plain(parts []*commonv1.KeyValue, omits bool) []byte {
	var out []byte
	for _, p := range parts {
		text := p.GetValue().GetStringValue()
		switch {
		case p.GetKey() == bootstrap.PartLiteral:
			out = append(out, text...)
		case text != nothing || !omits:
			out = append(out, strings.ReplaceAll(text, "\n", `\n`)...)
		}
	}
	return out
}

// objectLine is a JSON object with its members in their order.
func objectLine(object *commonv1.AnyValue, omits bool) []byte {
	out := []byte{'{'}
	for _, m := range object.GetKvlistValue().GetValues() {
		value := valueOf(partsOf(m.GetValue()), omits)
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, quoted(m.GetKey())...), ':'), value...)
	}
	return append(out, '}')
}

// valueOf is the JSON of a member: of one command what it found, as its type is, else a text. It is nil for a
// member that is left out.
func valueOf(parts []*commonv1.KeyValue, omits bool) []byte {
	if len(parts) != 1 || parts[0].GetKey() == bootstrap.PartLiteral {
		return quoted(string(plain(parts, omits)))
	}
	text := parts[0].GetValue().GetStringValue()
	switch kind := parts[0].GetKey(); {
	case text == nothing && omits:
		return nil
	case text == nothing:
		return []byte("null")
	case (kind == bootstrap.PartNumber || kind == bootstrap.PartValue) && json.Valid([]byte(text)):
		return []byte(text)
	}
	return quoted(text)
}

// quoted is a text in JSON.
func quoted(text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a text can be encoded, and a buffer takes it
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
