package contour_test

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/route/contour"
)

//go:generate go run ../../hack/published -module github.com/projectcontour/contour@v1.33.0 -file examples/contour/01-crds.yaml -kind HTTPProxy -version v1 -o testdata/published.txt

// designs are the fields that only the design document has, by their last name.
var designs = []string{"spec.includes[].condition", "spec.includes[].match", "spec.routes[].condition", "spec.routes[].match", "path"}

// Every field that Contour publishes is one of ours, of the same type, and ours are all
// published, but for those of the design.
func TestFieldsAreThosePublished(t *testing.T) {
	t.Parallel()
	published := readPublished(t)
	ours := map[string]string{}
	fieldsOf(reflect.TypeFor[contour.HTTPProxy](), "spec", ours)
	for path, kind := range published {
		switch have, ok := ours[path]; {
		case ok && have != kind && have != "any":
			t.Errorf("%s is of type %s, ours %s", path, kind, have)
		case !ok && !keptWhole(ours, path):
			t.Errorf("%s is published and none of ours", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(ours)) {
		if _, ok := published[path]; !ok && !ofDesign(path) {
			t.Errorf("%s is ours and not published", path)
		}
	}
	if len(published) < 200 || len(ours) < 100 {
		t.Errorf("%d fields published, %d ours", len(published), len(ours))
	}
}

func readPublished(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("testdata/published.txt")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if path, kind, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " "); ok && path != "#" {
			out[path] = kind
		}
	}
	return out
}

// keptWhole reports whether a field is below one of ours that is read as it is.
func keptWhole(ours map[string]string, path string) bool {
	for path != "" {
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
		if ours[path] == "any" {
			return true
		}
	}
	return false
}

func ofDesign(path string) bool {
	return slices.ContainsFunc(designs, func(d string) bool {
		return path == d || strings.HasPrefix(path, d+"[") || strings.HasPrefix(path, d+".") || !strings.Contains(d, ".") && strings.HasSuffix(path, "onditions[]."+d)
	})
}

// fieldsOf adds the fields of a type, by path, with the types that a schema gives them.
func fieldsOf(typ reflect.Type, path string, out map[string]string) {
	switch typ.Kind() {
	case reflect.Pointer:
		fieldsOf(typ.Elem(), path, out)
	case reflect.Interface:
		out[path] = "any"
	case reflect.Slice:
		out[path] = "array"
		fieldsOf(typ.Elem(), path+"[]", out)
	case reflect.Struct:
		out[path] = "object"
		for _, f := range reflect.VisibleFields(typ) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
				fieldsOf(f.Type, path+"."+name, out)
			}
		}
	case reflect.String:
		out[path] = "string"
	case reflect.Bool:
		out[path] = "boolean"
	default:
		out[path] = "integer"
	}
}
