package kuma

import (
	"regexp"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/api/redact"
)

// Percentage is a whole number, or a decimal number written as text.
type Percentage struct {
	text    string // as written
	decimal bool   // as text
}

// PercentOf is a whole percentage.
func PercentOf(n int) *Percentage { return &Percentage{text: strconv.Itoa(n)} }

var decimalNumber = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,6})?$`)

// DecodeRaw reads either form.
func (p *Percentage) DecodeRaw(r decode.Raw) {
	if text, ok := r.Text(); ok {
		*p = Percentage{text, true}
	} else if text, ok := r.Number(); ok && !decimalNumber.MatchString(text) {
		r.Breaks("%s is not a percentage; write a number from 0 to 100", redact.Clip(text))
	} else if n, err := strconv.Atoi(text); ok && err == nil {
		*p = *PercentOf(n)
	} else if ok {
		r.Breaks("%s has a fraction; put it in quotes: %q", text, text)
	} else {
		r.Breaks("%s is not a percentage; write a number from 0 to 100", r)
	}
}

// JSONSchema says that either form may be written.
func (Percentage) JSONSchema() jsonschema.Schema {
	return jsonschema.Schema{"type": []string{"integer", "string"}, "maxLength": 10}.Rule(api.ValidationRule{
		Test:    "type(self) == int ? self >= 0 && self <= 100 : self.matches(r'" + decimalNumber.String() + "') && double(self) <= 100.0",
		Message: "is not a percentage; write a number from 0 to 100, such as 50 or \"0.5\"",
	})
}

// MarshalJSON writes the form that was read.
func (p Percentage) MarshalJSON() ([]byte, error) {
	if p.decimal {
		return []byte(strconv.Quote(p.text)), nil
	}
	return []byte(p.text), nil
}

// value is the number; false where the text is none from 0 to 100.
func (p Percentage) value() (float64, bool) {
	v, err := strconv.ParseFloat(p.text, 64)
	return v, err == nil && decimalNumber.MatchString(p.text) && v <= 100
}
