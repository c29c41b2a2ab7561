package decode

import (
	"reflect"
	"strings"
	"sync"

	"github.com/weftmesh/weft/api/jsonschema"
)

// field is one field of a struct as documents name it.
type field struct {
	name  string
	index []int
	// keepEmpty marks lists and maps in which empty differs from absent.
	keepEmpty bool
	most      int // items or characters, 0 where the tag says nothing of it
}

// fields are those of a struct.
func (d *decoder) fields(t reflect.Type) []field {
	if f, ok := structs.Load(t); ok {
		return f.([]field)
	}
	var out []field
	for i := range t.NumField() {
		f := t.Field(i) // the fields of an embedded struct stand beside the others
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			for _, inner := range d.fields(f.Type) {
				inner.index = append([]int{i}, inner.index...) // of its own: inner is others' too
				out = append(out, inner)
			}
		case name != "" && name != "-":
			out = append(out, field{name, []int{i}, !strings.Contains(options, "omitempty"), jsonschema.TagOf(f).Bound()})
		}
	}
	structs.Store(t, out)
	return out
}

// structs are the fields of the types that documents were decoded into, which are few and do not change.
var structs sync.Map // []field by reflect.Type
