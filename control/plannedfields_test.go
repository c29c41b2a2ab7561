package control_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/xds/resource"
)

// cell is a value of a resource of Envoy's, of which parts may be forgotten.
type cell struct {
	value   any
	fields  map[string]*cell
	entries []*cell
	names   []string // of the entries, where each has one of its own
	gone    bool
	sorted  bool // the order of the entries is forgotten
}

// places are the cells of a resource by their paths, as plans write them.
type places map[string]*cell

// grow makes the cells of a value, which has several paths: an entry of a list is at its name and
// at its place.
func (p places) grow(v any, paths ...string) *cell {
	c := &cell{value: v}
	for _, path := range paths {
		p[path] = c
	}
	below := func(step string) (out []string) {
		for _, path := range paths {
			out = append(out, strings.TrimPrefix(path+step, "."))
		}
		return out
	}
	switch v := v.(type) {
	case map[string]any:
		c.fields = map[string]*cell{}
		for name, part := range v {
			step := "." + name
			if strings.ContainsAny(name, `.[]"`) {
				step = "[" + strconv.Quote(name) + "]"
			}
			c.fields[name] = p.grow(part, below(step)...)
		}
	case []any:
		c.names = namesOf(v)
		for i, part := range v {
			at := below(fmt.Sprintf("[%d]", i))
			if len(c.names) > 0 {
				at = append(at, below("["+c.names[i]+"]")...)
			}
			c.entries = append(c.entries, p.grow(part, at...))
		}
	}
	return c
}

// namesOf are those of the entries of a list; nil where one has none of its own.
func namesOf(list []any) []string {
	out := []string{}
	for _, v := range list {
		name, _ := below(v, "name").(string)
		if name == "" || slices.Contains(out, name) {
			return nil
		}
		out = append(out, name)
	}
	return out
}

// left is the value without what is forgotten.
func (c *cell) left() any {
	switch {
	case c.fields != nil:
		out := map[string]any{}
		for name, f := range c.fields {
			if !f.gone {
				out[name] = f.left()
			}
		}
		return out
	case c.entries != nil:
		out := []any{}
		for _, e := range c.entries {
			if !e.gone {
				out = append(out, e.left())
			}
		}
		if c.sorted {
			slices.SortFunc(out, func(a, b any) int {
				return strings.Compare(fmt.Sprint(below(a, "name")), fmt.Sprint(below(b, "name")))
			})
		}
		return out
	}
	return c.value
}

// told forgets a value that a plan tells of, and fails where it is another. That nothing was
// there tells of no entry which has only moved along in its list.
func (p places) told(path string, value any) error {
	c := p[path]
	switch {
	case value == nil && (c == nil || strings.HasSuffix(path, "]") && !strings.HasSuffix(path, `"]`)):
		return nil
	case c == nil || !reflect.DeepEqual(c.value, value):
		return fmt.Errorf("%s is told to be %s, and is %s", path, text(value), text(c))
	}
	c.gone = true
	return nil
}

// reordered takes the order of a list with names to be forgotten, if that is what is told.
func reordered(f plan.Field, x, y *cell) bool {
	if x == nil || y == nil || len(x.names) == 0 || len(y.names) == 0 {
		return false
	}
	stay := func(these, others *cell) any {
		return plain(slices.DeleteFunc(slices.Clone(these.names), func(name string) bool { return !slices.Contains(others.names, name) }))
	}
	if !reflect.DeepEqual(f.Before, stay(x, y)) || !reflect.DeepEqual(f.After, stay(y, x)) {
		return false
	}
	x.sorted, y.sorted = true, true
	return true
}

// holds fails where a plan tells a field of a resource to be other than it is, before or after,
// and where one changes of which it tells nothing.
func holds(t testing.TB, e *plan.Resource, before, after any) {
	t.Helper()
	what := fmt.Sprintf("%s %s at %s", e.Type, e.Name, e.FieldsAt)
	if e.FieldsCut > 0 || len(e.Fields) == 0 {
		t.Fatalf("%s: %d fields, and %d that are cut", what, len(e.Fields), e.FieldsCut)
	}
	was, is := places{}, places{}
	whole := [2]*cell{was.grow(before, ""), is.grow(after, "")}
	for _, f := range e.Fields {
		if reordered(f, was[f.Path], is[f.Path]) {
			continue
		}
		if reflect.DeepEqual(f.Before, f.After) {
			t.Errorf("%s: %s is told, and stays %s", what, f.Path, text(f.Before))
		}
		for _, err := range []error{was.told(f.Path, f.Before), is.told(f.Path, f.After)} {
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if whole[0].gone || whole[1].gone { // all of it comes or goes
		return
	}
	if x, y := text(whole[0].left()), text(whole[1].left()); x != y {
		t.Errorf("%s: beside the fields that are told\n%s\nbecomes\n%s\n%s", what, x, y, text(e.Fields))
	}
}

// shown is a resource as JSON has it; nil for none.
func shown(t testing.TB, url, bytes string) (out any) {
	t.Helper()
	if bytes == "" {
		return nil
	}
	printed, err := attach.Print(new(resource.Resource).With(&anypb.Any{TypeUrl: url, Value: []byte(bytes)}))
	if err == nil {
		err = json.Unmarshal(printed, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fieldsHold holds what a plan says of the fields of resources against what streams had and have.
func (r *receiving) fieldsHold(list []plan.Resource) {
	r.t.Helper()
	for i := range list {
		e := &list[i]
		if e.Mesh != "default" || r.without[e.FieldsAt] {
			continue
		}
		s, what := r.streams[e.FieldsAt], e.Type+" "+e.Name
		if s == nil {
			r.t.Fatalf("%s is told as it is at %s, which has no stream", what, e.FieldsAt)
		}
		s.mu.Lock()
		url, before, after := s.urls[e.Type], s.begin[what], s.held[what]
		s.mu.Unlock()
		holds(r.t, e, shown(r.t, url, before), shown(r.t, url, after))
		r.fields += len(e.Fields)
	}
}
