// Package corpus checks documents against what is to be reported of them. A
// corpus is txtar files of pairs: a text, then the lines that people see. It
// promises that every file is read and that none is missing.
package corpus

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
)

var update = flag.Bool("update-corpus", false, "write what is reported into the corpus")

// Check decodes every text of testdata with c and compares what is reported.
func Check(t *testing.T, c *api.Catalog) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no corpus", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			check(t, c, file)
		})
	}
}

func check(t *testing.T, c *api.Catalog, file string) {
	a, err := txtar.ParseFile(file)
	if err != nil || len(a.Files)%2 != 0 {
		t.Fatalf("%s is no list of pairs: %v", file, err)
	}
	for i := 0; i < len(a.Files); i += 2 {
		text, want := a.Files[i], &a.Files[i+1]
		got := Report(c.Decode(text.Name, text.Data))
		if *update {
			want.Data = []byte(got)
		}
		if diff := cmp.Diff(string(want.Data), got); diff != "" {
			t.Errorf("%s: %s", text.Name, diff)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Report is what people see of a decoding: a line for each finding, then the
// objects that were accepted.
func Report(objects []*api.Object, err error) string {
	var b strings.Builder
	found := api.Violations(err)
	for _, v := range found {
		fmt.Fprintf(&b, "%s %s %s\n", v.Severity, v.Code, v)
	}
	if err != nil && len(found) == 0 {
		fmt.Fprintln(&b, err)
	}
	for _, o := range objects {
		fmt.Fprintln(&b, "accepted", o.Ref)
	}
	return b.String()
}

// Texts are the texts of the corpus in testdata, as seeds for fuzzing.
func Texts(t testing.TB) [][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out [][]byte
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(a.Files); i += 2 {
			out = append(out, a.Files[i].Data)
		}
	}
	return out
}
