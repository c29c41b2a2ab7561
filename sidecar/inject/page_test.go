package inject_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/sidecar/inject"
)

// TestPage holds docs/injection.md to the tables of the code.
func TestPage(t *testing.T) {
	t.Parallel()
	const file = "../../docs/injection.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decisions, read, others := inject.Page()
	page := string(text)
	for name, table := range map[string]string{"decisions": decisions, "annotations": read, "others": others} {
		before, rest, ok := strings.Cut(page, "<!-- "+name+" -->\n")
		_, after, ends := strings.Cut(rest, "<!-- /"+name+" -->\n")
		if !ok || !ends {
			t.Fatalf("the page has no place for %s", name)
		}
		page = before + "<!-- " + name + " -->\n" + table + "<!-- /" + name + " -->\n" + after
	}
	cases.Equal(t, file, []byte(page))
}

// Each annotation says what it is for, once.
func TestAnnotationsAreWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, a := range inject.Annotations() {
		if a.Means == "" || a.Read() && a.Value == "" || seen[a.Name] {
			t.Errorf("%+v", a)
		}
		seen[a.Name] = true
	}
	if len(seen) < 40 {
		t.Errorf("%d annotations", len(seen))
	}
}
