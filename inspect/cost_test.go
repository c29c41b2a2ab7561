package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/resolve"
)

// town is a mesh of services, each with a route, a retry attached to it, a
// timeout, and three callers.
func town(t *testing.T, services int) *resolve.Model {
	t.Helper()
	var text strings.Builder
	for i := range services {
		fmt.Fprintf(&text, `---
{type: MeshHTTPRoute, mesh: default, name: r-%[1]d, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-%[1]d}, rules: [{matches: [{path: {type: PathPrefix, value: /v1}}], default: {}}]}]}}
---
{type: MeshRetry, mesh: default, name: r-%[1]d, spec: {targetRef: {kind: MeshHTTPRoute, name: r-%[1]d}, to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 3}}}]}}
---
{type: MeshTimeout, mesh: default, name: t-%[1]d, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-%[1]d}, default: {http: {requestTimeout: 3s}}}]}}
---
{type: Dataplane, mesh: default, name: d-%[1]d, networking: {address: 127.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: s-%[1]d, kuma.io/protocol: http}}],
  outbound: [{port: 10001, tags: {kuma.io/service: s-%[2]d}}, {port: 10002, tags: {kuma.io/service: s-%[3]d}}, {port: 10003, tags: {kuma.io/service: s-%[4]d}}]}}
`, i, (i+1)%services, (i+2)%services, (i+3)%services)
	}
	objects, violations := world.Decode("town.yaml", []byte(text.String()))
	if len(violations) > 0 {
		t.Fatal(violations[0])
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	return m
}

func named(kind, name string) api.Ref { return api.Ref{Kind: kind, Mesh: "default", Name: name} }

// questions are all that may be asked, about an object that three dataplanes of
// any town have to do with, or about one dataplane.
var questions = map[string]func(*resolve.Reader) error{
	"warnings of a write": func(q *resolve.Reader) error {
		notes.On(q, named("MeshRetry", "r-5"), named("MeshTimeout", "t-5"), named("MeshHTTPRoute", "r-5"))
		return nil
	},
	"GET of a policy": func(q *resolve.Reader) error {
		_, err := conditions.StatusOf(q, named("MeshRetry", "r-5"), nil)
		return err
	},
	"GET of a route": func(q *resolve.Reader) error {
		_, err := conditions.StatusOf(q, named("MeshHTTPRoute", "r-5"), nil)
		return err
	},
	"explain policy": func(q *resolve.Reader) error {
		_, err := conditions.ExplainObject(q, named("MeshTimeout", "t-5"), nil)
		return err
	},
}

// A question about one object costs what the object is about, however large the
// mesh is, and leaves nothing rendered.
func TestAQuestionCostsWhatItTouches(t *testing.T) {
	t.Parallel()
	small, large := town(t, 10), town(t, 60)
	for name, ask := range questions {
		var costs []int
		for _, m := range []*resolve.Model{small, large} {
			q := m.Reader(nil)
			if err := ask(q); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			costs = append(costs, q.Visited())
			for r := range m.Dataplanes("") {
				for _, o := range r.Outbounds {
					_, table := o.Cache.Rendered().Made()
					_, listener := o.Listener.Made()
					if table || listener {
						t.Fatalf("%s rendered %s of %s", name, o.Destination.ID, r.Ref)
					}
				}
			}
		}
		if costs[0] != costs[1] || costs[0] == 0 || costs[0] > 100 {
			t.Errorf("%s looks at %d values in a small mesh and at %d in a large one", name, costs[0], costs[1])
		}
	}
}

// The status of all objects costs as much as there is to say.
func TestStatusCostsWhatItLists(t *testing.T) {
	t.Parallel()
	cost := func(services int) int {
		q := town(t, services).Reader(nil)
		conditions.OverviewOf(q, "default", nil)
		conditions.Problems(q, nil, nil)
		return q.Visited()
	}
	if small, large := cost(10), cost(40); large > 4*small {
		t.Errorf("%d values for 10 services, %d for 40", small, large)
	}
}

// Who has left is not answered any further.
func TestAQuestionStopsWithItsClient(t *testing.T) {
	t.Parallel()
	m := town(t, 60)
	whole, gone := m.Reader(nil), m.Reader(func() bool { return true })
	conditions.OverviewOf(whole, "default", nil)
	conditions.OverviewOf(gone, "default", nil)
	if whole.Visited() < 300 || gone.Visited() > whole.Visited()/3 {
		t.Errorf("%d values for somebody who left, %d for who waits", gone.Visited(), whole.Visited())
	}
}

// Somebody else's change does not make an object wait for a sidecar.
func TestPendingIsWhatTheChangeTouched(t *testing.T) {
	t.Parallel()
	before := town(t, 10)
	objects, _ := world.Decode("t.yaml", []byte(`{type: MeshTimeout, mesh: default, name: t-5, spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: MeshService, name: s-5}, default: {http: {requestTimeout: 9s}}}]}}`))
	o := objects[0]
	old, _ := before.Snapshot().Get(o.Ref)
	changes := []snapshot.Change{{Before: old, After: o}}
	after, _ := before.Update(before.Snapshot().With(2, changes), changes)
	var sidecars []inspect.Sidecar
	for r := range before.Dataplanes("") {
		sidecars = append(sidecars, inspect.Sidecar{Dataplane: r.Ref, Connected: true, Confirmed: r})
	}
	for object, want := range map[api.Ref]string{o.Ref: "Pending", named("MeshTimeout", "t-4"): "Programmed", named("MeshRetry", "r-4"): "Programmed", named("MeshHTTPRoute", "r-5"): "Pending"} {
		s, err := conditions.StatusOf(after.Reader(nil), object, inspect.Listed(sidecars))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Conditions[2].Reason; got != want {
			t.Errorf("%s: %s (%s), want %s", object, got, s.Conditions[2].Message, want)
		}
	}
}
