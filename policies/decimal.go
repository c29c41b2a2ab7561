package policies

import (
	"regexp"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/api/redact"
)

// Decimal is a number that is not negative: an integer, or one with a fraction as text, as of Percentage.
type Decimal string

// DecodeRaw reads an integer or a text.
func (d *Decimal) DecodeRaw(raw decode.Raw) {
	decodeNumber((*string)(d), raw, "is no number; write an integer, or one with a fraction in quotes")
}

// MarshalJSON writes an integer as a number.
func (d Decimal) MarshalJSON() ([]byte, error) { return numberOrText(string(d)) }

// JSONSchema is an integer or a text.
func (Decimal) JSONSchema() jsonschema.Schema { return numberSchema() }

// decimalText is a number of which Envoy can tell the thousandths.
var decimalText = regexp.MustCompile(`^[0-9]{1,6}(\.[0-9]{1,6})?$`)

// Float is the number; not ok for what is none.
func (d Decimal) Float() (v float64, ok bool) {
	if !decimalText.MatchString(string(d)) {
		return 0, false
	}
	v, err := strconv.ParseFloat(string(d), 64)
	return v, err == nil
}

// Decimal checks a number, and that it is above zero where it has to be. Nil, where nothing is set, is sound.
func (f *Findings) Decimal(at api.Path, d *Decimal, aboveZero bool) {
	if d == nil {
		return
	}
	switch v, ok := d.Float(); {
	case !ok:
		f.Breaks(at, "%q is no number; write one such as 1.9, with at most six digits before and behind the point", redact.Clip(string(*d)))
	case aboveZero && v == 0:
		f.Breaks(at, "must be above 0; leave it out to inherit what weaker policies set")
	}
}

// Least checks a number that has a least value, for what stands in do. Nil, where nothing is set, is sound.
func (f *Findings) Least(at api.Path, n *uint32, least uint32, do string) {
	if n != nil && *n < least {
		f.Breaks(at, "must be at least %d; %s", least, do)
	}
}
