// Package corpus checks documents against what is to be reported of them. A
// corpus is txtar files of pairs: a text, then the lines that people see. It
// promises that every file is read and that none is missing.
package corpus

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/internal/cases"
)

// Check decodes every text of the files that match with c and compares what is
// reported.
func Check(t *testing.T, c *api.Catalog, pattern string) {
	t.Helper()
	cases.Files(t, pattern, func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		if len(a.Files)%2 != 0 {
			t.Fatalf("%s is no list of pairs", file)
		}
		for i := 0; i < len(a.Files); i += 2 {
			a.Files[i+1].Data = []byte(Report(decode.Objects(c, a.Files[i].Name, a.Files[i].Data)))
		}
		return a
	})
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
