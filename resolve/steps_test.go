package resolve_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/resolve"
)

// TestSteps changes the documents of each case under testdata/steps: what put
// and delete hold, up to affected, is one change. After each the model says what
// one compiled from nothing says, and exactly the dataplanes of affected were
// resolved anew, in that order.
func TestSteps(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	cases.Files(t, "testdata/steps/*.txtar", c.steps)
}

func (c *composition) steps(t *testing.T, _ string, archive *txtar.Archive) *txtar.Archive {
	state := snapshot.New(0)
	model, _ := resolve.Compile(state, c.dialects, c.kinds)
	var changes []snapshot.Change
	for i := range archive.Files {
		f := &archive.Files[i]
		if f.Name != "affected" {
			changes = append(changes, c.changes(t, state, f)...)
			continue
		}
		state = state.With(uint64(i), changes)
		next, affected := model.Update(state, changes)
		clean, _ := resolve.Compile(state, c.dialects, c.kinds)
		if diff := cmp.Diff(resolvetest.Dump(clean)+resolvetest.Answers(clean)+matched(clean), resolvetest.Dump(next)+resolvetest.Answers(next)+matched(next)); diff != "" {
			t.Fatalf("file %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", i, diff, describe(changes))
		}
		checkAffected(t, model, next, affected, changes)
		got := ""
		for _, ref := range affected.Dataplanes {
			got += ref.String() + "\n"
		}
		f.Data = []byte(got)
		model, changes = next, nil
	}
	if changes != nil {
		t.Fatal("no affected after the last change; run with -update and read what it wrote")
	}
	return archive
}

// changes reads one file of a step: documents, or the refs of those that go.
func (c *composition) changes(t *testing.T, s *snapshot.Snapshot, f *txtar.File) []snapshot.Change {
	var out []snapshot.Change
	if f.Name == "put" {
		objects, err := decode.Objects(c.catalog, f.Name, f.Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects {
			before, _ := s.Get(o.Ref)
			out = append(out, snapshot.Change{Before: before, After: o})
		}
		return out
	}
	gone := map[string]bool{}
	for _, ref := range strings.Fields(string(f.Data)) {
		gone[ref] = true
	}
	for o := range s.All() {
		if gone[o.Ref.String()] {
			out = append(out, snapshot.Change{Before: o})
			delete(gone, o.Ref.String())
		}
	}
	if len(gone) > 0 {
		t.Fatalf("%s: %v are not there", f.Name, gone)
	}
	return out
}
