package policies

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/api/redact"
)

// Percentage is a share from 0 to 100 percent: an integer, or a decimal number as text, since a
// document loses digits of one that is no text.
type Percentage string

// DecodeRaw reads an integer or a text.
func (p *Percentage) DecodeRaw(raw decode.Raw) {
	decodeNumber((*string)(p), raw, "is no percentage; write a number from 0 to 100, or one with a fraction in quotes")
}

// decodeNumber reads an integer or a text; otherwise says what anything else is.
func decodeNumber(into *string, raw decode.Raw, otherwise string) {
	number, isNumber := raw.Number()
	text, isText := raw.Text()
	switch {
	case isNumber && strings.ContainsAny(number, ".eE"):
		raw.Breaks("%s has a fraction; write it in quotes", redact.Clip(number))
	case isNumber:
		*into = number
	case isText:
		*into = text
	default:
		raw.Breaks("%s", otherwise)
	}
}

// MarshalJSON writes an integer as a number.
func (p Percentage) MarshalJSON() ([]byte, error) { return numberOrText(string(p)) }

// numberOrText is an integer as JSON writes it, all else as text.
func numberOrText(s string) ([]byte, error) {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil && strconv.FormatUint(n, 10) == s {
		return []byte(s), nil
	}
	return json.Marshal(s)
}

// JSONSchema is an integer or a text.
func (Percentage) JSONSchema() jsonschema.Schema { return numberSchema() }

func numberSchema() jsonschema.Schema {
	return jsonschema.Schema{"type": []string{"integer", "string"}}
}

// percentText is a percentage that Envoy can tell from others: it counts millionths.
var percentText = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,4})?$`)

// Millionths is the share of a million; not ok for what is no percentage.
func (p Percentage) Millionths() (n uint32, ok bool) {
	if !percentText.MatchString(string(p)) {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(string(p), ".")
	v, err := strconv.ParseUint(whole+(fraction + "0000")[:4], 10, 32)
	return uint32(v), err == nil && v <= 1_000_000
}

// Decimals is how many digits the fraction has.
func (p Percentage) Decimals() int {
	_, fraction, _ := strings.Cut(string(p), ".")
	return len(strings.TrimRight(fraction, "0"))
}

// Percentage checks a share. Nil, where nothing is set, is sound.
func (f *Findings) Percentage(at api.Path, p *Percentage) {
	if p == nil {
		return
	}
	if _, ok := p.Millionths(); !ok {
		f.Breaks(at, "%q is no percentage; write a number from 0 to 100 with at most four digits behind the point", redact.Clip(string(*p)))
	}
}
