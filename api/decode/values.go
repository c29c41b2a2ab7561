package decode

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/api/syntax"
)

var (
	plainInt    = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	plainNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]{1,3})?$`)
)

// isText reports whether a scalar is text. A date is text: JSON has no dates.
func isText(n *yaml.Node) bool { return n.Tag == "!!str" || n.Tag == "!!timestamp" }

// describe says what a field's value is, for messages; single values are quoted.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		return form(n)
	case isText(n):
		return strconv.Quote(redact.Clip(n.Value))
	}
	return redact.Clip(n.Value)
}

// form says what a node is and nothing of what it holds: for what may be a
// secret, and for texts that are no documents.
func form(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case isText(n):
		return "text"
	}
	return "a single value"
}

// describe is the function describe, but for what may be a secret.
func (d *decoder) describe(n *yaml.Node) string {
	if d.secret {
		return form(n)
	}
	return describe(n)
}

// text reads a scalar into a type that has a spelling of its own.
func (d *decoder) text(n, mark *yaml.Node, at api.Path, into encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode {
		d.report(mark, at.Breaks("%s stands where text belongs; write one value", d.describe(n)))
		return
	}
	err := into.UnmarshalText([]byte(n.Value))
	if err == nil && !isText(n) {
		err = fmt.Errorf("%s is not text; give it a unit or put it in quotes", d.describe(n))
	}
	if _, date := into.(*time.Time); date && err != nil {
		err = fmt.Errorf("%s is not a valid time; write it as 2006-01-02T15:04:05Z", d.describe(n))
	}
	if err != nil {
		d.report(mark, at.Breaks("%s", err.Error()))
	}
}

// list reads a sequence.
func (d *decoder) list(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.report(mark, at.Breaks("%s stands where a list belongs; write a list, each item after a dash", d.describe(n)))
		return
	}
	if len(n.Content) > maxItems {
		if d.items == 0 || d.items > maxItems { // else bounds has said so
			d.report(mark, at.Breaks("the list has %d items; at most %d are allowed, so split the document", len(n.Content), maxItems))
		}
		return
	}
	out := reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		if item.Tag == "!!null" {
			d.report(item, at.Index(i).Breaks("the item is empty; write it or remove its dash"))
			continue
		}
		d.bounds(item, item, at.Index(i), 0)
		d.value(item, item, at.Index(i), out.Index(i))
	}
	v.Set(out)
}

// The bounds of one list, and of one map with free keys such as labels.
const (
	maxItems = api.LongerItems
	maxKeys  = api.MaxEntries
)

// bounds reports a list or text of a spec that is longer than most, or where that is 0
// than those of its kind: a cluster takes no longer ones (spec/kubernetes.md 1.6).
func (d *decoder) bounds(n, mark *yaml.Node, at api.Path, most int) {
	n = syntax.Target(n)
	switch {
	case d.items == 0:
	case n.Kind == yaml.SequenceNode && len(n.Content) > cmp.Or(most, d.items):
		d.report(mark, at.Breaks("the list has %d items; at most %d are allowed", len(n.Content), cmp.Or(most, d.items)))
	case n.Kind == yaml.ScalarNode && utf8.RuneCountInString(n.Value) > cmp.Or(most, d.length):
		d.report(mark, at.Breaks("the text has %d characters; at most %d are allowed", utf8.RuneCountInString(n.Value), cmp.Or(most, d.length)))
	}
}

// dict reads a map with free keys.
func (d *decoder) dict(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if n.Kind != yaml.MappingNode || len(n.Content)/2 > maxKeys {
		d.report(mark, at.Breaks("%s stands where a map of at most %d names belongs; write name: value", d.describe(n), maxKeys))
		return
	}
	out := reflect.MakeMap(v.Type())
	for _, m := range d.members(n, at) {
		here := at.Key(redact.Clip(m.key.Value))
		value := reflect.New(v.Type().Elem()).Elem()
		switch {
		case m.key.Kind != yaml.ScalarNode || !isText(m.key):
			d.report(m.key, at.Breaks("%s is not a name; put it in quotes", d.describe(m.key)))
			continue
		case m.value.Tag == "!!null":
			d.report(m.key, here.Breaks(`has no value; write "" for an empty one or remove the name`))
			continue
		}
		d.bounds(m.value, syntax.Beside(m.key, m.value), here, 0)
		d.value(m.value, syntax.Beside(m.key, m.value), here, value)
		out.SetMapIndex(reflect.ValueOf(m.key.Value).Convert(v.Type().Key()), value)
	}
	v.Set(out)
}

// free reads what has no type of its own.
func (d *decoder) free(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	var into any
	switch {
	case n.Kind == yaml.MappingNode:
		into = new(map[string]any)
	case n.Kind == yaml.SequenceNode:
		into = new([]any)
	case n.Tag == "!!bool":
		into = new(bool)
	case n.Tag == "!!int":
		into = new(int64)
	case n.Tag == "!!float":
		into = new(float64)
	default:
		into = new(string)
	}
	e := reflect.ValueOf(into).Elem()
	d.plain(n, mark, at, e)
	v.Set(e)
}

// scalar reads a single value.
func (d *decoder) scalar(n, mark *yaml.Node, at api.Path, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.report(mark, at.Breaks("%s stands where a single value belongs; write %s", d.describe(n), expected(v)))
		return
	}
	switch k := v.Kind(); {
	case k == reflect.String && isText(n):
		v.SetString(n.Value)
	case k == reflect.String && d.secret && !isText(n):
		d.report(mark, at.Breaks("the value is not text; put it in quotes"))
	case k == reflect.String && (n.Tag == "!!int" || n.Tag == "!!float" || n.Tag == "!!bool"):
		d.report(mark, at.Breaks("%s is not a text; put it in quotes: %q", describe(n), redact.Clip(n.Value)))
	case k == reflect.Bool && n.Tag == "!!bool":
		v.SetBool(n.Value == "true" || n.Value == "True" || n.Value == "TRUE")
	case v.CanUint() && n.Tag == "!!int" && plainInt.MatchString(n.Value):
		u, err := strconv.ParseUint(n.Value, 10, v.Type().Bits())
		d.bounded(mark, at, n, v, err)
		v.SetUint(u)
	case v.CanInt() && n.Tag == "!!int" && plainInt.MatchString(n.Value):
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		d.bounded(mark, at, n, v, err)
		v.SetInt(i)
	case v.CanFloat() && (n.Tag == "!!int" || n.Tag == "!!float") && plainNumber.MatchString(n.Value):
		f, err := strconv.ParseFloat(n.Value, 64)
		d.bounded(mark, at, n, v, err)
		v.SetFloat(f)
	default:
		d.report(mark, at.Breaks("%s is not what belongs here; write %s", d.describe(n), expected(v)))
	}
}

// bounded reports a number that does not fit.
func (d *decoder) bounded(mark *yaml.Node, at api.Path, n *yaml.Node, v reflect.Value, err error) {
	if err != nil {
		d.report(mark, at.Breaks("%s is out of range; write %s", d.describe(n), expected(v)))
	}
}

// expected names the values that v takes.
func expected(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.CanUint():
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-v.Type().Bits()))
	case v.CanInt():
		return fmt.Sprintf("a whole number up to %d", int64(math.MaxInt64)>>(64-v.Type().Bits()))
	case v.CanFloat():
		return "a number"
	}
	return "text"
}
