package resolve_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/go-multierror"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

var update = flag.Bool("update", false, "write what resolve says into the cases")

// TestCases resolves the documents of each case under testdata and compares
// everything that the model says with what the case wants. The comment above a
// case names the rule that it holds.
func TestCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	c := newComposition(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := c.catalog.Decode(file, archive.Files[0].Data)
			for _, v := range violations(err) {
				if v.Severity == api.Error {
					t.Fatal(v)
				}
			}
			model, _ := resolve.Compile(api.NewSnapshot(1, objects...), c.dialects, c.kinds)
			got := dump(model)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if len(archive.Files) != 2 {
				t.Fatal("no want; run with -update and read what it wrote")
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("want (-), got (+):\n%s", diff)
			}
		})
	}
}

func violations(err error) []*api.Violation {
	var out []*api.Violation
	if all, ok := err.(*multierror.Error); ok {
		for _, e := range all.Errors {
			out = append(out, e.(*api.Violation))
		}
	}
	return out
}
