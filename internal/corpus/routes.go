package corpus

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/route"
)

// Routes checks what a language makes of its objects, without an engine: for every text
// of the files that match, what is refused, then what is said about each route, then the
// table of each place where clients ask. The objects of one text see each other.
func Routes(t *testing.T, d route.Dialect, pattern string) {
	t.Helper()
	c := api.NewCatalog(slices.Concat(api.Types(), d.Types, d.Beside)...)
	cases.Files(t, pattern, func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		if len(a.Files)%2 != 0 {
			t.Fatalf("%s is no list of pairs", file)
		}
		for i := 0; i < len(a.Files); i += 2 {
			objects, err := decode.Objects(c, a.Files[i].Name, a.Files[i].Data)
			var b strings.Builder
			for _, v := range api.Violations(err) {
				fmt.Fprintf(&b, "%s %s %s\n", v.Severity, v.Code, v)
			}
			tables(&b, d, objects)
			a.Files[i+1].Data = []byte(b.String())
		}
		return a
	})
}

// tables writes notes and tables of the routes among objects.
func tables(b *strings.Builder, d route.Dialect, objects []*api.Object) {
	var asked []api.TargetRef
	said := map[string][]route.Candidate{}
	for _, o := range objects {
		if !slices.ContainsFunc(d.Types, func(t api.Type) bool { return t.Name == o.Kind }) {
			continue
		}
		opinion := d.Read(o, others{d, objects})
		for _, n := range opinion.Notes {
			fmt.Fprintf(b, "%s %s %s %s: %s\n", o.FullName(), n.Severity, n.Code, n.Field, n.Message)
		}
		for _, l := range opinion.Listeners {
			fmt.Fprintf(b, "%s listens %s\n", o.FullName(), text(l))
		}
		for i := range opinion.Entries {
			e := &opinion.Entries[i]
			if e.To.Kind == "" {
				continue
			}
			key := fmt.Sprint(e.To)
			if said[key] == nil {
				asked = append(asked, e.To)
			}
			said[key] = append(said[key], route.Candidate{ParsedRoute: opinion, Entry: e})
		}
	}
	for _, to := range asked {
		fmt.Fprintf(b, "%s %s %s\n", to.Kind, api.Ref{Name: to.Name, Namespace: to.Namespace}.FullName(), to.SectionName)
		table(b, d.Compose(frontendOf(to), said[fmt.Sprint(to)]))
	}
}

// frontendOf is where clients ask for what a ref names.
func frontendOf(to api.TargetRef) route.Frontend {
	f := route.Frontend{Kind: to.Kind, Name: to.Name, Namespace: to.Namespace, Protocol: api.HTTP}
	if _, err := fmt.Sscan(to.SectionName, &f.Port); err != nil {
		f.Port = 80
	}
	return f
}

func table(b *strings.Builder, c route.Composition) {
	for _, in := range c.Inline {
		fmt.Fprintf(b, "  all: %s\n", text(in))
	}
	for _, r := range c.Rows {
		fmt.Fprintf(b, "  %s  [%s]\n", cmp.Or(r.Match.Text(), "everything"), r.Name)
		rule(b, r.MergedRule)
	}
	if c.Connections != nil {
		fmt.Fprintln(b, "  every connection")
		rule(b, c.Connections)
	}
	for _, s := range c.ServerNames {
		fmt.Fprintf(b, "  connections for %s\n", s.Name)
		rule(b, s.MergedRule)
	}
	if c.Default != nil {
		fmt.Fprintln(b, "  else")
		rule(b, c.Default)
	}
}

// rule writes what one rule does, a line for each part.
func rule(b *strings.Builder, r *route.MergedRule) {
	fmt.Fprintf(b, "    %s %s\n", strings.TrimPrefix(fmt.Sprintf("%T", r.Do), "*route."), text(r.Do))
	for _, f := range r.Filters {
		fmt.Fprintf(b, "    filter %s\n", text(f))
	}
	for _, in := range r.Inline {
		fmt.Fprintf(b, "    %s\n", text(in))
	}
	if r.Upgrade == route.UpgradeOn {
		fmt.Fprintln(b, "    upgrade on")
	}
	if r.NoPolicies || len(r.Superseded)+len(r.IncludedBy) > 0 {
		fmt.Fprintf(b, "    %s\n", text(route.MergedRule{NoPolicies: r.NoPolicies, Superseded: r.Superseded, IncludedBy: r.IncludedBy}))
	}
}

// text is a value as JSON, without fields that are not set.
func text(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(plain(reflect.ValueOf(v))); err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// plain is a value whose structs are maps of the fields that are set.
func plain(v reflect.Value) any {
	if !v.IsValid() {
		return nil
	}
	switch own := v.Interface().(type) {
	case *api.Origin:
		if own == nil {
			return nil
		}
		return fmt.Sprintf("%s %s", own.FullName(), own.Field)
	case encoding.TextMarshaler:
		return own
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return plain(v.Elem())
	case reflect.Slice:
		out := make([]any, v.Len())
		for i := range out {
			out[i] = plain(v.Index(i))
		}
		return out
	case reflect.Map:
		out := map[string]any{}
		for _, k := range v.MapKeys() {
			out[k.String()] = plain(v.MapIndex(k))
		}
		return out
	case reflect.Struct:
		out := map[string]any{}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && !v.Field(i).IsZero() {
				out[f.Name] = plain(v.Field(i))
			}
		}
		return out
	}
	return v.Interface()
}

// others is what the objects of one text see.
type others struct {
	dialect route.Dialect
	objects []*api.Object
}

func (s others) Object(r api.Ref) (*api.Object, bool) {
	i := slices.IndexFunc(s.objects, func(o *api.Object) bool { return o.Ref == r })
	if i < 0 {
		return nil, false
	}
	return s.objects[i], true
}

func (s others) Zone() api.Zone { return api.Zone{} }

func (s others) Objects(kind string, labels map[string]string) []*api.Object {
	return s.where(func(o *api.Object) bool {
		carried := api.Labels{Written: o.Labels, Display: o.DisplayName()}
		return o.Kind == kind && carried.Carry(labels)
	})
}

func (s others) Keyed(kind, key string) []*api.Object {
	return s.where(func(o *api.Object) bool { return o.Kind == kind && slices.Contains(s.dialect.Keys(o), key) })
}

func (s others) Shares(*api.Object, string) bool { return true }

func (s others) where(holds func(*api.Object) bool) []*api.Object {
	var out []*api.Object
	for _, o := range s.objects {
		if holds(o) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *api.Object) int { return a.Ref.Compare(b.Ref) })
	return out
}
