package resolve_test

import (
	"fmt"
	"path/filepath"
	"slices"
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

// TestWhyARouteOfANamespaceIsNotApplied: a route for the callers of a namespace says so to those of others, and one
// for all says to the callers of that namespace who stands in its place.
func TestWhyARouteOfANamespaceIsNotApplied(t *testing.T) {
	t.Parallel()
	m := resolvetest.Compile(t, "docs", []byte(`
{type: Dataplane, mesh: default, name: near-1, labels: {k8s.kuma.io/namespace: near}, networking: {address: 10.0.0.1, inbound: [{port: 8080, tags: {kuma.io/service: near}}], transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}}
---
{type: Dataplane, mesh: default, name: far-1, labels: {k8s.kuma.io/namespace: far}, networking: {address: 10.0.0.2, inbound: [{port: 8080, tags: {kuma.io/service: far}}], transparentProxying: {redirectPortInbound: 15006, redirectPortOutbound: 15001}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {clusterIP: 10.96.0.1, ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: own, namespace: near}, spec: {clusterIP: 10.96.0.2, ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: producer, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [{matches: [{path: {type: PathPrefix, value: /shop}}], backendRefs: [{name: web, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: consumer, namespace: near}, spec: {parentRefs: [{group: "", kind: Service, name: web, namespace: shop}, {group: "", kind: Service, name: own}], rules: [{matches: [{path: {type: PathPrefix, value: /near}}], backendRefs: [{name: web, namespace: shop, port: 80}]}]}}
`)).Reader(nil)
	route := func(name, namespace string) api.Ref {
		return api.Ref{Kind: "HTTPRoute", Mesh: "default", Namespace: namespace, Name: name}
	}
	plane := func(name string) api.Ref { return api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name} }
	for _, c := range []struct {
		route, plane api.Ref
		code, says   string
	}{
		{route("consumer", "near"), plane("far-1"), "NotSelected", "it is for the dataplanes of namespace near"},
		{route("producer", "shop"), plane("near-1"), api.CodeConflicted, "routes for the callers of namespace near stand in its place"},
	} {
		notes := slices.DeleteFunc(m.WhyNot(c.route, c.plane), func(n api.Note) bool { return n.Code != c.code })
		if len(notes) != 1 || notes[0].Code != c.code || !strings.Contains(notes[0].Message, c.says) {
			t.Errorf("%s at %s: %v", c.route, c.plane, notes)
		}
	}
}
