// Package anyspec makes arbitrary values of document types for property tests,
// and a catalogue that reads and prints them without asking whether they make
// sense. It promises values that differ in every way that a document can tell:
// unset, empty and set, and text that YAML would like to take for something else.
package anyspec

import (
	"encoding/json"
	"reflect"
	"strings"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
)

// Lax is a spec that is always valid.
type Lax struct{ Spec api.Spec }

// DecodeRaw reads the spec inside.
func (l *Lax) DecodeRaw(r decode.Raw) {
	if self, ok := l.Spec.(decode.SelfDecoder); ok {
		self.DecodeRaw(r)
		return
	}
	r.Decode(l.Spec)
}

// MarshalJSON writes the spec inside.
func (l *Lax) MarshalJSON() ([]byte, error) { return json.Marshal(l.Spec) }

// Validate finds nothing.
func (*Lax) Validate(api.Path) error { return nil }

// Catalog knows types, but takes every spec for valid.
func Catalog(types ...api.Type) *api.Catalog {
	for i := range types {
		inner := types[i].New
		types[i].New = func() api.Spec { return &Lax{inner()} }
	}
	return api.NewCatalog(types...)
}

// Object draws an object of type typ, whose spec is a Lax.
func (own Own) Object(t *rapid.T, typ api.Type) *api.Object {
	o := &api.Object{Ref: api.Ref{Kind: typ.Name, Name: "n-1"}}
	if !typ.Global {
		o.Mesh = rapid.SampledFrom([]string{"default", "other"}).Draw(t, "mesh")
		o.Namespace = rapid.SampledFrom([]string{"", "ns-1"}).Draw(t, "namespace")
	}
	if rapid.Bool().Draw(t, "labelled") {
		o.Labels = map[string]string{"a": rapid.SampledFrom([]string{"", "1.0", "yes", "x_y"}).Draw(t, "label"), api.LabelZone: "z"}
	}
	spec := typ.New()
	if lax, ok := spec.(*Lax); ok {
		own.Fill(t, lax.Spec)
	}
	o.Spec = spec
	if typ.NewStatus != nil && rapid.Bool().Draw(t, "status") {
		o.Status = typ.NewStatus()
		own.Fill(t, o.Status)
	}
	return o
}

// Own draws values of the types that decode themselves.
type Own map[reflect.Type]func(*rapid.T) any

// Fill draws a value for every field below the pointer into.
func (own Own) Fill(t *rapid.T, into any) { own.fill(t, reflect.ValueOf(into).Elem(), true) }

// texts are those that a careless printer or reader changes.
var texts = []string{"x", "", "yes", "null", "~", "1.0", "0x1F", "010", "1e3", ".inf", "true", "2020-01-01", "<<", "- a", "a: b", "#c",
	"a\nb\n", " lead", "trail ", "\ttab", "\"q\"", "'", "\\", "é", "\u2028", "\x00", "\x7f", "\ufeff", "😀", "<&>", "%", "*a", "&a", "!x", "|", "@", "[", "{}", "a\r\nb"}

func (own Own) fill(t *rapid.T, v reflect.Value, keepEmpty bool) {
	if draw := own[v.Type()]; draw != nil {
		v.Set(reflect.ValueOf(draw(t)))
		return
	}
	switch into := v.Addr().Interface().(type) {
	case *api.Duration:
		*into = api.Duration(rapid.Int64Range(0, 1<<62).Draw(t, "duration"))
		return
	case *api.IntOrName:
		*into = rapid.SampledFrom([]api.IntOrName{{Int: 0}, {Int: 80}, {Name: "http"}, {Name: "yes"}, {Name: "1e3"}}).Draw(t, "port")
		return
	case decode.SelfDecoder:
		panic("no values for " + v.Type().String())
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(rapid.OneOf(rapid.SampledFrom(texts), rapid.StringN(0, 5, 20)).Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint16:
		v.SetUint(uint64(rapid.Uint16().Draw(t, "uint")))
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "uint")))
	case reflect.Int32, reflect.Int64, reflect.Int:
		v.SetInt(int64(rapid.Int32().Draw(t, "int")))
	case reflect.Float64:
		v.SetFloat(rapid.Float64Range(-1e9, 1e9).Draw(t, "float"))
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "set") {
			v.Set(reflect.New(v.Type().Elem()))
			own.fill(t, v.Elem(), true)
			if e := v.Elem(); e.Kind() == reflect.Slice && e.IsNil() { // a list that is there is not null
				e.Set(reflect.MakeSlice(e.Type(), 0, 0))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" || v.Type().Field(i).Anonymous {
				own.fill(t, v.Field(i), !strings.Contains(options, "omitempty"))
			}
		}
	case reflect.Slice:
		own.slice(t, v, keepEmpty)
	case reflect.Map:
		own.dict(t, v)
	case reflect.Interface:
		v.Set(reflect.ValueOf(rapid.SampledFrom([]any{"1.0", true, int64(7), 2.5, []any{"a", int64(1)}, map[string]any{"k": "v"}}).Draw(t, "free")))
	default:
		panic("no values for " + v.Type().String())
	}
}

func (own Own) slice(t *rapid.T, v reflect.Value, keepEmpty bool) {
	low := -1
	n := rapid.IntRange(low, 2).Draw(t, "length")
	if n < 0 || n == 0 && !keepEmpty {
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), n, n))
	for i := range n {
		own.fill(t, v.Index(i), true)
	}
}

func (own Own) dict(t *rapid.T, v reflect.Value) {
	n := rapid.IntRange(0, 2).Draw(t, "size")
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		value := reflect.New(v.Type().Elem()).Elem()
		own.fill(t, value, true)
		v.SetMapIndex(reflect.ValueOf(rapid.SampledFrom(texts).Draw(t, "key")), value)
	}
}
