package resolve_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestTheOlderOneMayBecomeTheYounger: of two objects that a ref means alike the
// older one is taken (spec/kuma.md 4.3), also after it was made anew.
func TestTheOlderOneMayBecomeTheYounger(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	service := func(name string, created int64) *api.Object {
		o := worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshService","mesh":"default","name":%q,"labels":{"app":"x"},
			"spec":{"selector":{"dataplaneTags":{"app":%[1]q}},"ports":[{"port":80,"appProtocol":"http"}]}}`, name))
		o.Created = time.Unix(created, 0)
		return o
	}
	first, second := service("first", 1), service("second", 2)
	caller := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"outbound":[{"port":10001,"backendRef":{"kind":"MeshService","labels":{"app":"x"},"port":80}}]}}`)
	s := snapshot.New(1, first, second, caller)
	model, _ := resolve.Compile(s, c.dialects, c.kinds)
	changes := []snapshot.Change{{Before: first, After: service("first", 3)}}
	s = s.With(2, changes)
	next, _ := model.Update(s, changes)
	clean, _ := resolve.Compile(s, c.dialects, c.kinds)
	if diff := cmp.Diff(resolvetest.Dump(clean), resolvetest.Dump(next)); diff != "" {
		t.Errorf("compiled (-) and updated (+) differ:\n%s", diff)
	}
	if r, _ := next.Dataplane(caller.Ref); r.Outbounds[0].Destination.Name != "second" {
		t.Errorf("the outbound leads to %s", r.Outbounds[0].Destination.Name)
	}
}

// TestSubsetsOfThePastAreForgotten: a route whose subset changes again and again,
// while the service behind it does not, leaves nothing behind.
func TestSubsetsOfThePastAreForgotten(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	route := func(version int) *api.Object {
		return worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"MeshHTTPRoute","mesh":"default","name":"r","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},
			"rules":[{"matches":[{"path":{"type":"PathPrefix","value":"/"}}],"default":{"backendRefs":[{"kind":"MeshServiceSubset","name":"orders","tags":{"version":"v%d"}}]}}]}]}}`, version))
	}
	last := route(0)
	s := snapshot.New(1, last, worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}},{"port":81,"tags":{"kuma.io/service":"orders","kuma.io/protocol":"http"}}],
		"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`))
	model, _ := resolve.Compile(s, c.dialects, c.kinds)
	const edits = 1000
	for i := range edits {
		now := route(i + 1)
		changes := []snapshot.Change{{Before: last, After: now}}
		s, last = s.With(uint64(i+2), changes), now
		model, _ = model.Update(s, changes)
	}
	clean, _ := resolve.Compile(s, c.dialects, c.kinds)
	if diff := cmp.Diff(clean.Kept(), model.Kept()); diff != "" {
		t.Errorf("compiled (-) and updated (+) keep different things:\n%s", diff)
	}
}

// TestAnEmptyMeshIsForgotten: a mesh of which nothing is left costs nothing.
func TestAnEmptyMeshIsForgotten(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dp := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"short","name":"a","networking":{"address":"127.0.0.2","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}`)
	model, _ := resolve.Compile(snapshot.New(1, dp), c.dialects, c.kinds)
	gone := []snapshot.Change{{Before: dp}}
	next, affected := model.Update(snapshot.New(2), gone)
	if len(next.Kept()) != 0 || next.Meshes() != 0 || len(affected.Dataplanes) != 1 {
		t.Errorf("%d meshes, %q kept, affected %v", next.Meshes(), next.Kept(), affected)
	}
}
