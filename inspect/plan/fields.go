package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/xds/resource"
)

// Bounds of what is told of what changes in resources of Envoy, in all of them together: how
// many fields, how many bytes of values, and how many bytes of resources are looked at.
const (
	mostFields     = 5_000
	mostFieldBytes = 1 << 20
	mostPrinted    = 32 << 20
)

// Field is one value in a resource of Envoy's that changes.
type Field struct {
	// Path leads to it: names of fields, in brackets the names of entries of lists, or their
	// places where they have none. Empty is the whole resource.
	Path string `json:"path"`
	// Before and After are null where there is nothing.
	Before any `json:"before"`
	After  any `json:"after"`
}

// resourcePair is a resource before and after, either nil where there is none, at a dataplane.
type resourcePair struct {
	was, is *resource.Resource
	at      int32 // in differ.refs
}

// fields says of resources what changes in them, as each is at the first of its dataplanes.
func (d *differ) fields(p *Plan, printer func(*resource.Resource) ([]byte, error)) {
	left := fieldBudget{mostFields, mostFieldBytes, mostPrinted}
	for i := range p.Envoy {
		r := &p.Envoy[i]
		pair := d.pairs[resourceKey{r.Mesh, r.Type, r.Name, r.Action}]
		r.FieldsAt = d.refs[pair.at].FullName()
		was, known := left.printed(pair.was, printer)
		is, alsoKnown := left.printed(pair.is, printer)
		if !known || !alsoKnown {
			r.FieldsCut++
			continue
		}
		for _, f := range fieldsBetween(nil, "", was, is) {
			if left.takes(f) {
				r.Fields = append(r.Fields, f)
			} else {
				r.FieldsCut++
			}
		}
	}
}

// fieldBudget is how much may still be told and looked at.
type fieldBudget struct{ fields, bytes, printing int }

// printed is a resource as JSON has it, nil where there is none; false where it cannot be told.
func (b *fieldBudget) printed(x *resource.Resource, printer func(*resource.Resource) ([]byte, error)) (out any, ok bool) {
	if x == nil || b.printing < 1 {
		return nil, x == nil
	}
	text, err := printer(x)
	if err == nil {
		b.printing -= len(text)
		err = json.Unmarshal(text, &out)
	}
	return out, err == nil
}

func (b *fieldBudget) takes(f Field) bool {
	size := len(f.Path) + len(text(f.Before)) + len(text(f.After))
	if b.fields < 1 || size > b.bytes {
		return false
	}
	b.fields--
	b.bytes -= size
	return true
}

// fieldsBetween adds what differs between two values at a path, in the order of their fields.
func fieldsBetween(out []Field, path string, was, is any) []Field {
	if before, ok := was.(map[string]any); ok {
		if after, ok := is.(map[string]any); ok {
			for _, key := range union(before, after) {
				out = fieldsBetween(out, path+below(path, key), before[key], after[key])
			}
			return out
		}
	}
	if before, ok := was.([]any); ok {
		if after, ok := is.([]any); ok {
			return entriesBetween(out, path, before, after)
		}
	}
	if differs(was, is) {
		out = append(out, Field{path, was, is})
	}
	return out
}

// below is a field below a path, in quotes where its name has what paths are written with.
func below(path, key string) string {
	switch {
	case strings.ContainsAny(key, ".[]\""):
		return fmt.Sprintf("[%q]", key)
	case path == "":
		return key
	}
	return "." + key
}

// entriesBetween compares lists: by the names of their entries where all have one, whose order
// is told too; else place by place, but for what they begin and end with alike.
func entriesBetween(out []Field, path string, was, is []any) []Field {
	before, named := byName(was)
	after, alsoNamed := byName(is)
	if named && alsoNamed {
		for _, name := range union(before, after) {
			out = fieldsBetween(out, path+"["+name+"]", before[name], after[name])
		}
		stay := func(list []any, other map[string]any) []string {
			return slices.DeleteFunc(entryNames(list), func(name string) bool { return other[name] == nil })
		}
		if x, y := stay(was, after), stay(is, before); !slices.Equal(x, y) {
			out = append(out, Field{path, x, y})
		}
		return out
	}
	first, last := 0, 0
	for first < min(len(was), len(is)) && !differs(was[first], is[first]) {
		first++
	}
	for last < min(len(was), len(is))-first && !differs(was[len(was)-1-last], is[len(is)-1-last]) {
		last++
	}
	for i := first; i < max(len(was), len(is))-last; i++ {
		var x, y any
		if i < len(was)-last {
			x = was[i]
		}
		if i < len(is)-last {
			y = is[i]
		}
		out = fieldsBetween(out, path+"["+strconv.Itoa(i)+"]", x, y)
	}
	return out
}

// byName are the entries of a list by their names, and whether each has one of its own.
func byName(list []any) (map[string]any, bool) {
	out := map[string]any{}
	for _, x := range list {
		entry, _ := x.(map[string]any)
		name, ok := entry["name"].(string)
		if _, twice := out[name]; !ok || name == "" || twice {
			return nil, false
		}
		out[name] = x
	}
	return out, true
}

func entryNames(list []any) []string {
	var out []string
	for _, x := range list {
		out = append(out, x.(map[string]any)["name"].(string))
	}
	return out
}

// text is what changes, in a line.
func (f *Field) text() string {
	path := f.Path
	if path == "" {
		path = "all of it"
	}
	return path + ": " + redact.Clip(valueText(f.Before)) + " → " + redact.Clip(valueText(f.After))
}

// fieldsText writes what changes in a resource, a line each.
func (r *Resource) fieldsText(line func(string, ...any), s terminal.Style) {
	for i := range r.Fields {
		line("      %s", r.Fields[i].text())
	}
	if r.FieldsAt != "" && (len(r.Dataplanes) > 1 || r.Cut > 0) && len(r.Fields) > 0 {
		line("      %s", s.Paint("2", "as it is at "+r.FieldsAt))
	}
	if r.FieldsCut > 0 {
		line("      and %d more, which are too many or too long to be listed", r.FieldsCut)
	}
}
