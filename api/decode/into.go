package decode

import (
	"reflect"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/syntax"
)

// Into reads one text, YAML or JSON, strictly into what the pointer into points to: a
// file of settings, or a field that holds a document of its own. at is where the text
// stands, empty for a whole file. All that is wrong comes at once, as a *multierror.Error
// of *Violation with places in the text. A text without a document changes nothing.
func Into(file string, text []byte, at api.Path, into any) error {
	var d *decoder
	for doc, broken := range syntax.Documents(file, text) {
		switch {
		case broken != nil:
			broken.Field = at
			return asError([]*api.Violation{broken})
		case d != nil:
			v := at.Breaks("there is more than one document; write one")
			v.Position = doc.PositionOf(doc.Root)
			return asError([]*api.Violation{v})
		}
		d = &decoder{Document: doc}
		d.value(doc.Root, doc.Root, at, reflect.ValueOf(into).Elem())
	}
	if d == nil {
		return nil
	}
	return asError(d.errs)
}
