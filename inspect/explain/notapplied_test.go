package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/inspecttest"
)

// A mesh may have thousands of policies for others: the list is cut, and says by how much.
func TestWhatDoesNotApplyIsBounded(t *testing.T) {
	t.Parallel()
	text := inspecttest.Street
	for i := range 250 {
		text += fmt.Sprintf("---\n{type: MeshTimeout, mesh: default, name: away-%03d, spec: {targetRef: {kind: MeshService, name: web}, to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 1s}}}]}}\n", i)
	}
	e, err := explain.Of(inspecttest.Model(t, text), inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	if len(e.NotApplied) != 200 || e.NotAppliedTotal != 251 { // and mr-typo
		t.Fatalf("%d of %d are listed", len(e.NotApplied), e.NotAppliedTotal)
	}
	if x := e.NotApplied[1]; x.Object != "MeshTimeout/default/away-000" || x.Code != "NotSelected" || x.Reason != "MeshService web selects other dataplanes" {
		t.Errorf("%+v", x)
	}
	var out strings.Builder
	if err := explain.Text(&out, e, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "away-"); n > 20 || !strings.Contains(out.String(), "and 231 more") {
		t.Errorf("%d lines for people:\n%s", n, out.String())
	}
}
