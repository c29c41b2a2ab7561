package contour

import (
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/cases"
)

// tablesBegin is the line of the page behind which the tables stand.
const tablesBegin = "<!-- from here on written by go test ./route/contour -update -->\n"

// TestPageIsOfTheTables: the page for users says what the tables of the code say.
func TestPageIsOfTheTables(t *testing.T) {
	t.Parallel()
	const page = "../../docs/httpproxy.md"
	before, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(before), tablesBegin)
	if !ok {
		t.Fatalf("%s has no line %q", page, tablesBegin)
	}
	cases.Equal(t, page, []byte(head+tablesBegin+tables(t)))
}

// tables are the tables of the code as the page has them.
func tables(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## What becomes a part of a policy\n\n| field | becomes |\n|---|---|\n" + mappedFields(t))
	fields := func(title, text string, protects bool) {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| field | why |\n|---|---|\n", title, text)
		for _, l := range lacking {
			if l.protects == protects {
				fmt.Fprintf(&b, "| `%s`%s | %s |\n", l.field, inside(l.field), l.why)
			}
		}
	}
	fields("What is refused", "Fields that protect are errors (`RouteError/UnsupportedSecurityField`), and the routes of the object are not served:", true)
	fields("What has no effect yet", "Fields that tune are warnings (`SpecError/UnsupportedField`), and the route is served without. A mistake in one of those that are checked takes the routes of\n"+
		"the object away, so that it is found before the field does something:", false)
	b.WriteString("\n## Conditions of retries\n\n| `retryOn` | becomes in MeshRetry `http.retryOn` |\n|---|---|\n")
	for _, word := range slices.Sorted(maps.Keys(retryWords)) {
		fmt.Fprintf(&b, "| `%s` | `%s` |\n", word, retryWords[word])
	}
	b.WriteString("\n## Every field\n\nAll fields that are read. Those in the last column are refused, or have no effect yet, as the tables above say of each.\n\n| in | fields | not carried out |\n|---|---|---|\n" + everyField())
	return b.String()
}

// elsewhere are the types of which the page tells in other places.
var elsewhere = []reflect.Type{reflect.TypeFor[Service](), reflect.TypeFor[LoadBalancerPolicy](), reflect.TypeFor[HeaderMatch]()}

// inside are the fields of a field of the object, in their order, as the page lists them.
func inside(field string) string {
	var names []string
	var walk func(reflect.Type, bool)
	walk = func(typ reflect.Type, below bool) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || below && slices.Contains(elsewhere, typ) {
			return
		}
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if below && name != "" {
				names = append(names, "`"+name+"`")
			}
			if name != "" && (below || name == field || len(names) == 0) {
				walk(typ.Field(i).Type, below || name == field)
			}
			if name == field {
				return
			}
		}
	}
	walk(reflect.TypeFor[HTTPProxy](), false)
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// TestPageNamesEveryField: what the page for users says is said of every field.
func TestPageNamesEveryField(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/httpproxy.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			if !strings.Contains(string(page), name) {
				t.Errorf("docs/httpproxy.md says nothing of %s", name)
			}
			walk(typ.Field(i).Type)
		}
	}
	walk(reflect.TypeFor[HTTPProxy]())
	if len(seen) < 15 {
		t.Errorf("only %d types", len(seen))
	}
}
