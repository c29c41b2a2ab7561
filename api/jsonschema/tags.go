package jsonschema

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
)

// Rules is the keyword of CEL rules, which only Kubernetes reads.
const Rules = "x-kubernetes-validations"

// ListMapKey is the keyword of the member by which the items of a list are told apart.
const ListMapKey = "x-weft-list-map-key"

// Ruled are types whose values have to satisfy rules.
type Ruled interface{ Rules() []api.ValidationRule }

// Itself are types that documents do not write as their Go type is.
type Itself interface{ JSONSchema() Schema }

// Described are specs that describe themselves, as far as their Go type says too little.
type Described interface{ Schema(*api.Catalog) Schema }

// OfSpec is the schema of the body of documents of a type.
func OfSpec(c *api.Catalog, t api.Type) Schema {
	spec := t.New()
	if d, ok := spec.(Described); ok {
		return d.Schema(c)
	}
	return Of(reflect.TypeOf(spec))
}

// Tag is what the tag schema of a field says of its values, which the type does not:
// words after commas.
//
//	required      the field has to be there
//	min=, max=    bounds of a number
//	least=        of items, characters or members
//	items=        most items of a list, which the decoder counts
//	length=       most characters of a text, which the decoder counts
//	most=         of items, which the type's own validation counts
//	enum=A|B      the texts that there are
//	is=SHAPE      one of api.Shapes; of a duration: bound or positive, or a duration that is its least
//	default=      what a document without the field says
//	map=FIELD     the items of a list are told apart by the field
//
// What its Go type leaves out when it is empty, and is not required, may be empty.
type Tag map[string]string

// TagOf reads the tag of a field.
func TagOf(f reflect.StructField) Tag {
	out := Tag{}
	for word := range strings.SplitSeq(f.Tag.Get("schema"), ",") {
		key, value, _ := strings.Cut(word, "=")
		out[key] = value
	}
	delete(out, "")
	return out
}

// Bound is how many items or characters of the field the decoder takes at most; 0 where
// the tag says nothing of it.
func (t Tag) Bound() int {
	for _, key := range []string{"items", "length"} {
		if text, ok := t[key]; ok {
			return number(text)
		}
	}
	if api.Shapes[t["is"]].Length > api.MaxLength {
		return api.LongerLength // its validation counts it
	}
	return 0
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		panic("a tag of a field has no number: " + text)
	}
	return n
}

// leasts are the keywords of the least of something, by type.
var leasts = map[string]string{"array": "minItems", "string": "minLength", "object": "minProperties"}

// Constrain adds to the schema of a field's type what its tag says.
func Constrain(s Schema, f reflect.StructField) {
	tag := TagOf(f)
	_, required := tag["required"]
	empty := f.Type.Kind() != reflect.Pointer && !required && strings.Contains(f.Tag.Get("json"), ",omitempty")
	for key, text := range tag {
		switch key {
		case "min":
			s["minimum"] = number(text)
		case "max":
			s["maximum"] = number(text)
		case "least":
			s[leasts[s["type"].(string)]] = number(text)
		case "items", "most":
			s["maxItems"] = number(text)
		case "length":
			s["maxLength"] = number(text)
		case "enum":
			s.enum(strings.Split(text, "|"), empty)
		case "is":
			s.is(text, empty)
		case "default":
			s["default"] = s.values(text)[0]
		case "map":
			s[ListMapKey] = text
		case "required":
		default:
			panic("a tag of a field has an unknown word: " + key)
		}
	}
	if required && s["type"] == "string" && s["enum"] == nil {
		s["minLength"] = 1
	}
}

// enum limits s, or its items, to what words say.
func (s Schema) enum(words []string, empty bool) {
	if items, ok := s["items"].(Schema); ok {
		items.enum(words, false)
		return
	}
	all := s.values(words...)
	switch {
	case empty && s["type"] == "integer":
		all = append(all, 0)
	case empty:
		all = append(all, "")
	}
	s["enum"] = all
}

// values are what words of a tag say, in the type of s.
func (s Schema) values(words ...string) []any {
	out := make([]any, len(words))
	for i, w := range words {
		if out[i] = w; s["type"] == "integer" {
			out[i] = number(w)
		}
	}
	return out
}

// is gives s the shape of a name.
func (s Schema) is(name string, empty bool) {
	if items, ok := s["items"].(Schema); ok {
		s = items
	}
	if s["format"] == durationFormat {
		s.Rule(durationRule(name))
		return
	}
	if name == "time" {
		s["format"] = "date-time"
		return
	}
	shape, ok := api.Shapes[name]
	if !ok {
		panic("a tag of a field has an unknown shape: " + name)
	}
	s["pattern"] = shape.Pattern
	if empty {
		s["pattern"] = "^$|" + shape.Pattern
	}
	if shape.Length > 0 {
		s["maxLength"] = shape.Length
	}
}

// durationRule is the rule of a time that bounds something, 0s for no bound; of one
// that has to pass; or of one that is at least the given one.
func durationRule(least string) api.ValidationRule {
	const longest = "duration(self) <= duration('876000h')"
	switch least {
	case "bound":
		return api.ValidationRule{Test: "duration(self) == duration('0s') || duration(self) >= duration('1ms') && " + longest,
			Message: "must be from 1ms to 876000h, or 0s for no bound; write a time that can pass"}
	case "positive":
		least = "1ms"
	}
	return api.ValidationRule{Test: fmt.Sprintf("duration(self) >= duration('%s') && %s", least, longest),
		Message: fmt.Sprintf("must be from %s to 876000h; write a time that can pass", least)}
}

// Rule adds rules to what s has.
func (s Schema) Rule(rules ...api.ValidationRule) Schema {
	have, _ := s[Rules].([]api.ValidationRule)
	if len(rules) > 0 {
		s[Rules] = append(have, rules...)
	}
	return s
}

// Member is the schema below s by the names of fields; [] stands for the items of a list.
func (s Schema) Member(names ...string) Schema {
	for _, name := range names {
		var ok bool
		if name == "[]" {
			s, ok = s["items"].(Schema)
		} else {
			s, ok = s["properties"].(Schema)[name].(Schema)
		}
		if !ok {
			panic("a schema has no member " + name)
		}
	}
	return s
}

// Ref makes s the schema of a ref by the rules of its place.
func (s Schema) Ref(rules api.RefRules) Schema {
	members := s["properties"].(Schema)
	s.Member("kind")["enum"] = rules.Names()
	s["required"] = []string{"kind"}
	for _, name := range []string{"name", "namespace"} {
		if m, ok := members[name].(Schema); ok {
			m.is(name, true)
		}
	}
	return s.Rule(rules.Tests(func(field string) bool { return members[field] != nil })...)
}

// Plain is s without what only Kubernetes reads.
func (s Schema) Plain() Schema {
	out := Schema{}
	for key, v := range s {
		if key == Rules || key == ListMapKey {
			continue
		}
		switch v := v.(type) {
		case Schema:
			out[key] = v.Plain()
		default:
			out[key] = v
		}
	}
	return out
}
