package kuma_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/kuma"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/resolve"
)

// TestRulesStayWhereAPolicyIsWrittenAnew: a policy that says of a dataplane what it said
// before has the rules there that it had.
func TestRulesStayWhereAPolicyIsWrittenAnew(t *testing.T) {
	t.Parallel()
	before := inspecttest.Model(t, inspecttest.Street).Model
	retry := api.Ref{Kind: "MeshRetry", Mesh: "default", Name: "mr-top"}
	was, ok := before.Snapshot().Get(retry)
	if !ok {
		t.Fatalf("the street has no %s", retry)
	}
	now, _ := inspecttest.Model(t, inspecttest.Street).Snapshot().Get(retry) // the same words, read anew
	change := []snapshot.Change{{Before: was, After: now}}
	after, _ := before.Update(before.Snapshot().With(before.Snapshot().Revision()+1, change), change)
	if diff := cmp.Diff(rulesText(t, before), rulesText(t, after)); diff != "" {
		t.Errorf("rules of a-1 (-before +after):\n%s", diff)
	}
}

func rulesText(t *testing.T, m *resolve.Model) string {
	t.Helper()
	rules, err := kuma.Rules(m.Reader(nil), world.Catalog(), plane("a-1"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(rules, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
