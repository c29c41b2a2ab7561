package crd_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/jsonschema"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/corpus"
)

// Every rule refuses something, and what it refuses our validation refuses too.
func TestRulesHaveTwins(t *testing.T) {
	t.Parallel()
	var told strings.Builder
	cases.Files(t, "testdata/refused.txtar", func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		for i := 0; i+1 < len(a.Files); i += 2 {
			docs := corpus.Read(world.Catalog(), a.Files[i].Name, a.Files[i].Data)
			if len(docs) != 1 {
				t.Fatalf("%s holds %d documents", a.Files[i].Name, len(docs))
			}
			a.Files[i+1].Data = []byte(refusals(t, docs[0]))
			told.Write(a.Files[i+1].Data)
		}
		return a
	})
	t.Cleanup(func() { // when the file has been read
		for _, r := range allRules() {
			if !strings.Contains(told.String(), r.Message) {
				t.Errorf("no document is refused by the rule %s: %s", r.Test, r.Message)
			}
		}
	})
}

// refusals are what an API server says of a document, and what we say.
func refusals(t *testing.T, d corpus.Document) string {
	t.Helper()
	text, err := json.Marshal(d.JSON)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	answer := served()[d.Type.Name].Ask(d.JSON)
	var lines []string
	for _, e := range answer.Errors {
		lines = append(lines, fmt.Sprintf("kubernetes %s: %s\n", e.Field, e.Detail))
	}
	slices.Sort(lines)
	b.WriteString(strings.Join(lines, ""))
	objects, found := decode.Objects(world.Catalog(), "", text)
	for _, v := range api.Violations(found) {
		fmt.Fprintf(&b, "weft %s %s: %s\n", v.Severity, v.Field, v.Message)
	}
	if len(lines) == 0 || len(objects) > 0 {
		t.Errorf("%s: refused by Kubernetes %t, by weft %t", d.Place, len(lines) > 0, len(objects) == 0)
	}
	return b.String()
}

// allRules are those of all definitions.
func allRules() []api.ValidationRule {
	var out []api.ValidationRule
	c := world.Catalog()
	for _, d := range crd.All(c, "dev", crd.Bundles(c)...) {
		out = append(out, rulesIn(d.Spec.Versions[0].Schema.Root)...)
	}
	return out
}

func rulesIn(s jsonschema.Schema) []api.ValidationRule {
	out, _ := s[jsonschema.Rules].([]api.ValidationRule)
	for _, key := range []string{"items", "additionalProperties"} {
		if below, ok := s[key].(jsonschema.Schema); ok {
			out = append(out, rulesIn(below)...)
		}
	}
	if members, ok := s["properties"].(jsonschema.Schema); ok {
		for _, m := range members {
			out = append(out, rulesIn(m.(jsonschema.Schema))...)
		}
	}
	return out
}
