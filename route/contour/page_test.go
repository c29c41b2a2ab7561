package contour

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

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
