package decode

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
)

// Raw is a part of a document that is captured undecoded, because only its
// owner knows the type that it has. What is wrong in it is reported together
// with all else that is wrong in the document. The zero Raw is an absent part.
type Raw struct {
	d    *decoder
	node *yaml.Node
	mark *yaml.Node // of the place
	path api.Path
	// inAlias keeps the decoder's count of aliases for when the part is decoded later.
	inAlias int
}

// SelfDecoder decodes itself from its part of the document.
type SelfDecoder interface{ DecodeRaw(Raw) }

// IsSet reports whether the document has this part; null is absent.
func (r Raw) IsSet() bool { return r.node != nil }

// Path is where the part stands.
func (r Raw) Path() api.Path { return r.path }

// Decode reads the part strictly into what the pointer into points to, and
// reports whether that went without an error. An absent part changes nothing.
// It does not ask into to decode itself, so that DecodeRaw may call it.
func (r Raw) Decode(into any) bool {
	if !r.IsSet() {
		return true
	}
	before, inAlias := len(r.d.errs), r.d.inAlias
	defer func() { r.d.inAlias = inAlias }()
	r.d.inAlias = r.inAlias
	r.d.plain(r.node, r.mark, r.path, reflect.ValueOf(into).Elem())
	return len(r.d.errs) == before
}

// DecodeStrictly is Decode where unknown fields are mistakes, whatever they are
// around the part.
func (r Raw) DecodeStrictly(into any) bool {
	if r.IsSet() {
		warns := r.d.warns
		r.d.warns = false
		defer func() { r.d.warns = warns }()
	}
	return r.Decode(into)
}

// Text is the part if it is text.
func (r Raw) Text() (string, bool) {
	return syntax.ScalarOf(r.node), r.IsSet() && r.node.Kind == yaml.ScalarNode && isText(r.node)
}

// Number is the part as it is written if it is a decimal number.
func (r Raw) Number() (string, bool) {
	s := syntax.ScalarOf(r.node)
	return s, r.IsSet() && (r.node.Tag == "!!int" || r.node.Tag == "!!float") && plainNumber.MatchString(s)
}

// String is the part as it is written where it is a single value, for messages.
func (r Raw) String() string {
	if !r.IsSet() {
		return ""
	}
	return describe(r.node)
}

// Breaks reports that the part is wrong.
func (r Raw) Breaks(format string, args ...any) {
	if r.IsSet() {
		r.d.report(r.mark, r.path.Breaks(format, args...))
	}
}

// intOrName reads a port that is written as a number or as a name.
func intOrName(r Raw, v *api.IntOrName) {
	name, ok := r.Text()
	switch {
	case !ok:
		r.Decode(&v.Int)
	case name == "" || strings.Trim(name, "0123456789") == "":
		r.Breaks("%q is not a valid port name; write a number without quotes, or a name with a letter", redact.Clip(name))
	default:
		if err := api.ValidatePortName(r.path, name); err != nil {
			r.report(err)
			return
		}
		v.Name = name
	}
}

// report adds the violations of err at the part's place.
func (r Raw) report(err error) {
	for _, v := range api.Violations(err) {
		r.d.report(r.mark, v)
	}
}
