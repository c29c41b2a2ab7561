// Package converttest translates documents that are written down as cases, for the tests of convert and of the
// languages that it prints.
package converttest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/convert"
	"github.com/weftmesh/weft/internal/cases"
)

// Anew prints documents in the language that they are in.
type Anew func([]*api.Object, convert.Options) convert.Result

// Translated translates documents into each language that their file has a part for:
// want.httpproxy holds the documents, and what is told about them as comments. Documents in
// that language already are printed by anew; without it their part is left as it is, and with
// kinds those of other kinds.
func Translated(t *testing.T, pattern string, anew Anew, kinds ...string) {
	t.Helper()
	cases.Files(t, pattern, func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
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
				f.Data = translated(t, objects, f.Data, to, anew, kinds)
			}
			out.Files = append(out.Files, f)
		}
		return out
	})
}

func translated(t *testing.T, objects []*api.Object, before []byte, to string, anew Anew, kinds []string) []byte {
	t.Helper()
	typ, ok := world.Catalog().Find(to)
	if !ok {
		t.Fatalf("there is no kind %s", to)
	}
	own := objects[0].Kind == typ.Name
	if len(kinds) > 0 && !slices.Contains(kinds, typ.Name) || own && anew == nil {
		return before
	}
	options := convert.Options{Catalog: world.Catalog(), Dialects: world.Readable(), Kind: typ.Name, Host: "host.example",
		Service: api.TargetRef{Kind: api.KindMeshService, Name: "web", SectionName: "80"}, Edge: api.Ref{Name: "gateway"}}
	translate := convert.Objects
	if own {
		translate = anew
	}
	result := translate(objects, options)
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
