package policies

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
)

// Schema is the list of the leaves of a conf, read once from its type. A leaf
// is a field with a weft tag, "scope" or "scope,group": a pointer, slice or map
// whose nil means unset. Structs without the tag are only the way to leaves.
type Schema struct {
	Leaves []SchemaLeaf // in the order of the type; a leaf's number is its index
}

// SchemaLeaf is one leaf.
type SchemaLeaf struct {
	Path  string // http.numRetries
	Scope Scope
	// Group is the set of fields whose built-in defaults come together; it is
	// the scope where the tag names none.
	Group string
	// Append says that opinions add to the list instead of the strongest replacing it: the field's
	// name in Go begins with Append (spec/kuma.md 4.4).
	Append bool
	index  []int
	typ    reflect.Type
}

// Type names the values of the leaf as people write them.
func (l SchemaLeaf) Type() string { return typeName(l.typ) }

func typeName(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return typeName(t.Elem())
	case t == reflect.TypeFor[api.Duration]():
		return "duration"
	case t == reflect.TypeFor[Percentage]():
		return "percentage"
	case t == reflect.TypeFor[Decimal]():
		return "number"
	case t.Kind() == reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	case t.Kind() == reflect.Bool:
		return "boolean"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Struct, t.Kind() == reflect.Map:
		return "object"
	}
	return "number"
}

// SchemaOf reads the schema of the struct C. It panics where a tag is wrong:
// that is a bug in the kind.
func SchemaOf[C any]() *Schema {
	s := &Schema{}
	s.walk(reflect.TypeFor[C](), "", nil)
	if len(s.Leaves) == 0 {
		panic("conf without leaves: " + reflect.TypeFor[C]().String())
	}
	return s
}

func (s *Schema) walk(t reflect.Type, path string, index []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		here := append(index[:len(index):len(index)], i)
		if tag, ok := f.Tag.Lookup("weft"); ok {
			scope, group, _ := strings.Cut(tag, ",")
			if group == "" {
				group = scope
			}
			s.Leaves = append(s.Leaves, SchemaLeaf{Path: at, Scope: Scope(scope), Group: group, Append: appends(f, at), index: here, typ: f.Type})
			continue
		}
		if f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
			panic("neither a leaf nor a pointer to a struct: " + at)
		}
		s.walk(f.Type.Elem(), at, here)
	}
}

// appends reports whether opinions add to a leaf, which has to be a list then.
func appends(f reflect.StructField, at string) bool {
	if !strings.HasPrefix(f.Name, "Append") {
		return false
	}
	if f.Type.Kind() != reflect.Slice {
		panic("appends, and is no list: " + at)
	}
	return true
}

// lists is how the values of a leaf are lists.
type lists struct{ typ reflect.Type }

func (l lists) Split(value any) []any {
	out, _ := Items(value)
	return out
}

func (l lists) Equal(a, b any) bool { return SameValue(a, b) }

func (l lists) Build(elements []any) any {
	out := reflect.MakeSlice(l.typ, len(elements), len(elements))
	for i, e := range elements {
		out.Index(i).Set(reflect.ValueOf(e))
	}
	return out.Interface()
}

// join makes lists of those fields to which opinions add.
func (s *Schema) join(fields []merge.Field) {
	for i := range fields {
		if leaf := &s.Leaves[fields[i].Field]; leaf.Append {
			fields[i].Join(lists{leaf.typ})
		}
	}
}

// Read is what conf sets.
func (s *Schema) Read(conf Conf) []merge.Leaf {
	var leaves []merge.Leaf
	root := reflect.ValueOf(conf).Elem()
	for n := range s.Leaves {
		if v, ok := find(root, s.Leaves[n].index); ok {
			leaves = append(leaves, merge.Leaf{Field: n, Value: v.Interface()})
		}
	}
	return leaves
}

// Set puts values into conf, by the paths of its leaves, and returns it. A leaf that
// is an object may be a map of its fields by their names, of those too that no
// document has. A path or a type that the
// conf lacks is a bug of who made the values, and panics.
func (s *Schema) Set(conf Conf, values map[string]any) Conf {
	var fields []merge.Field
	for path, v := range values {
		at := slices.IndexFunc(s.Leaves, func(l SchemaLeaf) bool { return l.Path == path })
		if at < 0 {
			panic(fmt.Sprintf("a %T has no field %s", conf, path))
		}
		v = s.Leaves[at].value(v)
		fields = append(fields, merge.Field{Field: at, Said: []merge.Said{{Value: v}}})
	}
	return s.Build(conf, fields)
}

// value is v in the type of the leaf.
func (l SchemaLeaf) value(v any) any {
	if list, ok := v.([]any); ok && len(list) == 0 && l.typ.Kind() == reflect.Slice {
		return reflect.MakeSlice(l.typ, 0, 0).Interface()
	}
	fields, ok := v.(map[string]any)
	if !ok || l.typ.Kind() != reflect.Pointer || l.typ.Elem().Kind() != reflect.Struct {
		return v
	}
	out := reflect.New(l.typ.Elem())
	for name, x := range fields {
		f, ok := l.typ.Elem().FieldByNameFunc(func(n string) bool {
			f, _ := l.typ.Elem().FieldByName(n)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return tag == name || tag == "-" && strings.EqualFold(n, name) // what documents do not have
		})
		if !ok {
			panic(fmt.Sprintf("%s has no field %s", l.Path, name))
		}
		out.Elem().FieldByIndex(f.Index).Set(reflect.ValueOf(x))
	}
	return out.Interface()
}

// find follows index through pointers; false where one of them, or the leaf, is nil.
func find(v reflect.Value, index []int) (reflect.Value, bool) {
	for i, n := range index {
		if i > 0 {
			if v.IsNil() {
				return v, false
			}
			v = v.Elem()
		}
		v = v.Field(n)
	}
	return v, !v.IsNil()
}

// Build puts the winning values of fields into conf, which is new, and returns it.
func (s *Schema) Build(conf Conf, fields []merge.Field) Conf {
	root := reflect.ValueOf(conf).Elem()
	for _, f := range fields {
		if leaf := &s.Leaves[f.Field]; leaf.Append && f.Joined == nil {
			f.Said = slices.Clone(f.Said) // which others have too
			f.Join(lists{leaf.typ})
		}
		v := root
		for i, n := range s.Leaves[f.Field].index {
			if i > 0 {
				if v.IsNil() {
					v.Set(reflect.New(v.Type().Elem()))
				}
				v = v.Elem()
			}
			v = v.Field(n)
		}
		v.Set(reflect.ValueOf(f.Value()))
	}
	return conf
}
