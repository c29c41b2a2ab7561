package skipper

import (
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
)

// Words is a list of words, of which the draft takes one without its brackets.
type Words []string

// DecodeRaw reads a list or one word.
func (w *Words) DecodeRaw(r decode.Raw) {
	if one, ok := r.Text(); ok {
		*w = Words{one}
		return
	}
	var list []string
	if r.Decode(&list) {
		*w = list
	}
}

// JSONSchema leaves open what it is: structural schemas have no word for text or list.
func (Words) JSONSchema() jsonschema.Schema { return jsonschema.Schema{} }
