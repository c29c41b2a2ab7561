package convert_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/cases"
)

// TestTranslations translates documents into each language that their file has a part for:
// want.httpproxy holds the documents, and what is told about them as comments. Documents in
// that language already are printed anew.
func TestTranslations(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		var objects []*api.Object
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "want.") {
				list, err := decode.Objects(world.Catalog(), f.Name, f.Data)
				if err != nil {
					t.Fatal(err)
				}
				objects = append(objects, list...)
			}
		}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			if to, ok := strings.CutPrefix(f.Name, "want."); ok {
				f.Data = translated(t, objects, to)
			}
			out.Files = append(out.Files, f)
		}
		return out
	})
}

func translated(t *testing.T, objects []*api.Object, to string) []byte {
	t.Helper()
	typ, ok := world.Catalog().Find(to)
	if !ok {
		t.Fatalf("there is no kind %s", to)
	}
	options := convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: typ.Name, Host: "host.example",
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", SectionName: "80"}, Edge: api.Ref{Name: "gateway"}}
	result := convert.Objects(objects, options)
	if objects[0].Kind == typ.Name { // printed all the same
		result, _, _ = convert.Own(objects, options)
	}
	var b bytes.Buffer
	for _, n := range result.Notes {
		fmt.Fprintf(&b, "# %s %s %s %s: %s\n", n.Severity, n.Code, n.Origin.FullName(), n.Field, n.Message)
	}
	for i, o := range result.Objects {
		text, err := decode.PrintYAML(world.Catalog(), o)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		b.Write(text)
	}
	return b.Bytes()
}
