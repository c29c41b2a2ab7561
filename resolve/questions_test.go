package resolve_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/cases"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/resolve"
)

// matched are the policies that select each dataplane, by kind.
func matched(model *resolve.Model) string {
	var b strings.Builder
	for r := range model.Dataplanes("") {
		fmt.Fprintf(&b, "%s\n", r.Ref)
		for _, k := range model.Kinds() {
			for _, o := range model.Reader(nil).Matched(r.Ref, k.Name).Policies() {
				fmt.Fprintf(&b, " under %s %s\n", k.Name, o.Name)
			}
		}
	}
	return b.String()
}

// TestMatched asks which policies select the dataplanes of the cases of resolve/impact.
func TestMatched(t *testing.T) {
	t.Parallel()
	cases.Files(t, "impact/testdata/*.txtar", func(t *testing.T, file string, a *txtar.Archive) *txtar.Archive {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		cases.Equal(t, filepath.Join("testdata", "matched", name+".txt"), []byte(matched(resolvetest.Compile(t, file, a.Files[0].Data))))
		return a
	})
}

// TestAskingForWhatIsNotThere: every question about an unknown mesh or object,
// or about an object of another kind, has the empty answer.
func TestAskingForWhatIsNotThere(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	objects, err := decode.Objects(c.catalog, "docs", []byte(`
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: web}}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	for _, ref := range []api.Ref{{Kind: api.KindDataplane, Mesh: "none", Name: "a"}, {Kind: api.KindDataplane, Mesh: "default", Name: "none"}} {
		_, planed := model.Dataplane(ref)
		use := model.Reader(nil).ImpactOf(ref.Mesh, []api.Ref{ref}, nil)[0]
		if n := len(model.Reader(nil).NotesAt(ref)) + len(model.Reader(nil).NotesOn(ref)) + len(use.Entries) + len(use.Placements) + len(model.Reader(nil).Selected(ref)) +
			len(model.Reader(nil).RoutesOf(ref)) + len(model.Reader(nil).Matched(ref, "MeshRetry").Policies()) + len(model.Reader(nil).Matched(ref, "MeshRetry").Items()); planed || n > 0 {
			t.Errorf("%s: planed %v, %d answers", ref, planed, n)
		}
		if r, ok := model.Route(ref); ok || r != nil {
			t.Errorf("%s is a route", ref)
		}
	}
	here := objects[0].Ref
	if r, ok := model.Route(here); ok || r != nil {
		t.Error("a dataplane is a route")
	}
	if r, ok := model.Dataplane(here); !ok || r.Ref != here {
		t.Errorf("%s: %v %v", here, r, ok)
	}
	for _, mesh := range []string{"none", ""} {
		if d, ok := model.Destination(mesh, "web"); ok || d != nil {
			t.Errorf("mesh %q has a destination", mesh)
		}
	}
	for range model.Dataplanes("none") {
		t.Error("an unknown mesh has a dataplane")
	}
}

// TestWhoStopsListeningIsNotToldMore: whoever has heard enough of a sequence
// may stop, across meshes too.
func TestWhoStopsListeningIsNotToldMore(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	objects, err := decode.Objects(c.catalog, "docs", []byte(`
{type: Dataplane, mesh: default, name: a, networking: {address: 127.0.0.2, outbound: [{port: 1, tags: {kuma.io/service: none}}], inbound: [{port: 8080, tags: {kuma.io/service: a}}]}}
---
{type: Dataplane, mesh: default, name: b, networking: {address: 127.0.0.2, outbound: [{port: 1, tags: {kuma.io/service: none}}], inbound: [{port: 8080, tags: {kuma.io/service: b}}]}}
---
{type: Mesh, name: other}
---
{type: Dataplane, mesh: other, name: c, networking: {address: 127.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: c}}]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	for r := range model.Dataplanes("") {
		if r.Ref.Name != "a" {
			t.Errorf("%s comes first", r.Ref)
		}
		break
	}
	for d := range model.Destinations("default") {
		if d.ID != "a" {
			t.Errorf("%s comes first", d.ID)
		}
		break
	}
	for n := range model.Notes() {
		if n.Origin.Name != "a" {
			t.Errorf("a note on %s comes first", n.Origin.Name)
		}
		break
	}
	for r := range model.Dataplanes("other") {
		if r.Ref.Name != "c" {
			t.Errorf("%s is in mesh other", r.Ref)
		}
	}
}
