// Package resolvetest resolves documents that are written down as cases of a stage of resolve, and
// says as text what they come to. Each stage has cases of its own, beside its code.
package resolvetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// Cases resolves the documents of each file that matches, which may be warned of but must be valid, and
// compares what says writes of the model with what the file wants. The comment above a case names the
// rule that it holds. A second file, sidecars, has a line for each Dataplane of which something is known: its
// name, and those of identity, tls and plain that are true.
func Cases(t *testing.T, pattern string, says func(*resolve.Model) string) {
	t.Helper()
	cases.Files(t, pattern, func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		given, known := a.Files[:1], []*api.Object(nil)
		if len(a.Files) > 1 && a.Files[1].Name != "want" {
			given, known = a.Files[:2], sidecars(string(a.Files[1].Data))
		}
		model := Compile(t, file, a.Files[0].Data, known...)
		return &txtar.Archive{Comment: a.Comment, Files: append(slices.Clone(given), txtar.File{Name: "want", Data: []byte(says(model))})}
	})
}

// Compile resolves documents, which may be warned of but must be valid, and other objects.
func Compile(t *testing.T, file string, docs []byte, more ...*api.Object) *resolve.Model {
	t.Helper()
	objects, err := decode.Objects(world.Catalog(), file, docs)
	for _, v := range api.Violations(err) {
		if v.Severity == api.Error {
			t.Fatal(v)
		}
	}
	model, _ := resolve.Compile(snapshot.New(1, append(objects, more...)...), world.Dialects(), world.Kinds())
	return model
}

// stages are what is said of the cases of each stage, by the folders below resolve that hold them.
var stages = map[string]func(*resolve.Model) string{
	"authorization/testdata": Permissions, "conditions/testdata": Dump, "conditions/testdata/permissions": Permissions, "dataplanes/testdata": Dump,
	"hostnames/testdata": Names, "hostnames/testdata/dataplanes": Dump, "identity/testdata": Identities, "impact/testdata": Answers, "index/testdata": Dump,
	"reachability/testdata": Dump, "routing/testdata": Dump, "services/testdata": Dump, "tables/testdata": Dump,
}

// Stage runs the cases of a stage, as a test of its package.
func Stage(t *testing.T, name string) {
	t.Helper()
	for folder, says := range stages {
		if at, ok := strings.CutPrefix(folder, name+"/"); ok {
			Cases(t, at+"/*.txtar", says)
		}
	}
}

// sidecars are what is known of sidecars.
func sidecars(text string) (out []*api.Object) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		out = append(out, worlds.Insight(f[0], api.DataplaneInsight{Identity: slices.Contains(f, "identity"), TLS: slices.Contains(f, "tls"), Plain: slices.Contains(f, "plain")}))
	}
	return out
}

// Identities is what is resolved about identities, with what keeps dataplanes from having one.
func Identities(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		b.WriteString(IdentityText(r))
	}
	for n := range m.Notes() {
		if n.Code == "SpiffeIDInvalid" {
			fmt.Fprintf(&b, "note %s %s\n", n.Origin.Ref, n.Message)
		}
	}
	return b.String()
}
