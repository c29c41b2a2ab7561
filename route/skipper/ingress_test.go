package skipper_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/route/skipper"
)

// TestIngresses: an Ingress with the annotations of Skipper becomes RouteGroups that take the same requests, and
// what has no form in one is told.
func TestIngresses(t *testing.T) {
	t.Parallel()
	cases.Files(t, "testdata/ingress/*.txtar", func(t *testing.T, _ string, a *txtar.Archive) *txtar.Archive {
		var doc map[string]any
		if err := yaml.Unmarshal(a.Files[0].Data, &doc); err != nil {
			t.Fatal(err)
		}
		groups, changes := skipper.Dialect.Rewriters[skipper.KindIngress](doc)
		var out bytes.Buffer
		for _, g := range groups {
			text, err := json.MarshalIndent(g, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%s\n", text)
		}
		for _, c := range changes {
			fmt.Fprintf(&out, "%s: %s; dropped: %v\n", c.Field, c.Message, c.Dropped)
		}
		return &txtar.Archive{Comment: a.Comment, Files: []txtar.File{a.Files[0], {Name: "want", Data: out.Bytes()}}}
	})
}
