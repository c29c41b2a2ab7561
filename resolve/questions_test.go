package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/resolve/impact"
)

// answers is what a model answers to the questions of people: how far each
// policy and route reaches, and what selects each dataplane.
func answers(model *resolve.Model) string {
	var b strings.Builder
	for o := range model.Snapshot().All() {
		r, isRoute := model.Route(o.Ref)
		isPolicy := slices.ContainsFunc(kindNames(model), func(k string) bool { return k == o.Kind })
		if !isRoute && !isPolicy {
			continue
		}
		fmt.Fprintf(&b, "%s selects %s%s\n", o.Ref, refNames(model.Reader(nil).Selected(o.Ref)), reachText(model, o.Ref))
		if isRoute {
			fmt.Fprintf(&b, " is a route about %d destinations\n", len(r.Entries))
		}
		for _, r := range model.Reader(nil).RoutesOf(o.Ref) {
			fmt.Fprintf(&b, " targets %s\n", r.Object.Ref)
		}
	}
	for r := range model.Dataplanes("") {
		fmt.Fprintf(&b, "%s\n", r.Ref)
		for _, kind := range kindNames(model) {
			for _, o := range model.Reader(nil).Matched(r.Ref, kind).Policies() {
				fmt.Fprintf(&b, " under %s %s\n", kind, o.Name)
			}
			for _, it := range model.Reader(nil).Matched(r.Ref, kind).Items() {
				fmt.Fprintf(&b, " says %s %s %d\n", kind, it.Policy.Name, it.Index)
			}
		}
		for _, n := range model.Reader(nil).NotesAt(r.Ref) {
			fmt.Fprintf(&b, " note %s %s %s\n", n.Origin.Name, n.Code, n.Field)
		}
	}
	for _, mesh := range []string{"", "default", "other"} {
		for d := range model.Destinations(mesh) {
			found, ok := model.Destination(mesh, d.ID)
			fmt.Fprintf(&b, "destination %s of %q, found %v\n", d.ID, mesh, ok && found == d)
		}
	}
	return b.String()
}

// reachText says on which dataplanes an object acts, loses and lacks, and how its
// entries fare.
func reachText(model *resolve.Model, ref api.Ref) string {
	var on [4][]api.Ref
	x := model.Reader(nil).ImpactOf(ref.Mesh, []api.Ref{ref}, func(_, _ int, r *effective.Resolved, p impact.Presence) { on[p] = append(on[p], r.Ref) })[0]
	text := ", acts on " + refNames(on[impact.Acts]) + ", loses on " + refNames(on[impact.Loses]) + ", is missing on " + refNames(on[impact.Lacks])
	for _, e := range x.Entries {
		text += fmt.Sprintf("\n %s %s", e.Field, [...]string{"holds", "holds in part", "is overridden", "has no effect"}[e.State()])
		for _, by := range e.By {
			text += fmt.Sprintf(" by %s %s", by.Name, by.Field)
		}
		if e.Why != "" {
			text += ": " + e.Why
		}
	}
	return text
}

func kindNames(model *resolve.Model) []string {
	var out []string
	for _, k := range model.Kinds() {
		out = append(out, k.Name)
	}
	return out
}

func refNames(list []api.Ref) string {
	var out []string
	for _, r := range list {
		out = append(out, r.Name)
	}
	return "[" + strings.Join(out, " ") + "]"
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
