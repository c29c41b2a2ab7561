package resolve_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/resolve"
)

// TestCases resolves the documents of each case under testdata and compares
// everything that the model says with what the case wants. The comment above a
// case names the rule that it holds.
func TestCases(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	cases.Files(t, "testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		return wants(a, dump(c.compile(t, file, a.Files[0].Data)))
	})
}

// TestQuestions asks everything of each case under testdata/questions.
func TestQuestions(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	cases.Files(t, "testdata/questions/*.txtar", func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		return wants(a, answers(c.compile(t, file, a.Files[0].Data)))
	})
}

// wants is the documents of a case and what they come to.
func wants(a *txtar.Archive, got string) *txtar.Archive {
	return &txtar.Archive{Comment: a.Comment, Files: []txtar.File{a.Files[0], {Name: "want", Data: []byte(got)}}}
}

// compile resolves documents, which may be warned of but must be valid.
func (c *composition) compile(t *testing.T, file string, docs []byte) *resolve.Model {
	t.Helper()
	objects, err := decode.Objects(c.catalog, file, docs)
	for _, v := range api.Violations(err) {
		if v.Severity == api.Error {
			t.Fatal(v)
		}
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	return model
}
