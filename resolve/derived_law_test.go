package resolve_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/toydialect"
	"github.com/weftmesh/weft/internal/toydialect/toyworlds"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
)

// TestDerivedEqualsModel: collections that record their reads say of every
// dataplane what the model says, after any changes, and name as affected those
// that the model names and that came out differently.
func TestDerivedEqualsModel(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		c.derivedEqualsModel(t, func(s *api.Snapshot) []api.Change { return worlds.Changes(t, c.catalog, s) })
	})
}

// TestDerivedEqualsModelOfAnyLanguage: so they do for a language that serves hosts
// and reads other documents.
func TestDerivedEqualsModelOfAnyLanguage(t *testing.T) {
	t.Parallel()
	c := &composition{kinds: world.Kinds(), dialects: append(world.Dialects(), toydialect.Dialect),
		catalog: api.NewCatalog(append(world.Types(), toydialect.Dialect.Types...)...)}
	rapid.Check(t, func(t *rapid.T) {
		c.derivedEqualsModel(t, func(s *api.Snapshot) []api.Change { return toyworlds.Changes(t, c.catalog, s) })
	})
}

func (c *composition) derivedEqualsModel(t *rapid.T, draw func(*api.Snapshot) []api.Change) {
	snapshot := api.NewSnapshot(0)
	model, _ := resolve.Compile(snapshot, c.dialects, c.kinds)
	derived := resolve.NewDerived(model)
	for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
		changes := draw(snapshot)
		snapshot = snapshot.With(uint64(step+1), changes)
		next, affected := model.Update(snapshot, changes)
		now, changed := derived.Update(changes)
		if diff := cmp.Diff(contents(slices.Collect(next.Dataplanes(""))), contents(now.Dataplanes())); diff != "" {
			t.Fatalf("step %d: model (-) and derived (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
		}
		if f := now.Failures(); len(f) > 0 {
			t.Fatalf("%v", f)
		}
		for _, ref := range changed.Dataplanes {
			if !slices.Contains(affected.Dataplanes, ref) {
				t.Fatalf("step %d: %s is affected, for the model %v\nchanges: %s", step, ref, affected.Dataplanes, describe(changes))
			}
		}
		for _, ref := range affected.Dataplanes {
			was, had := model.Dataplane(ref)
			is, has := next.Dataplane(ref)
			if !slices.Contains(changed.Dataplanes, ref) && (had != has || was.Dataplane != is.Dataplane || content(was) != content(is)) {
				t.Fatalf("step %d: %s is affected, but not derived anew\nchanges: %s", step, ref, describe(changes))
			}
		}
		model, derived = next, now
	}
}

func contents(list []*resolve.Resolved) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString(content(r))
	}
	return b.String()
}

// TestAFailureIsNoneOfOthersBusiness: a document that makes the resolver panic is
// named with its cause, alike however the graph came about, and all others hold.
func TestAFailureIsNoneOfOthersBusiness(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	dialects := c.panickingAt("bad")
	routeTo := func(name, path string) *api.Object {
		return worlds.Decode(t, c.catalog, `{"type":"MeshHTTPRoute","mesh":"default","name":"`+name+`","spec":{"to":[{"targetRef":{"kind":"MeshService","name":"web"},
			"rules":[{"matches":[{"path":{"type":"Exact","value":"`+path+`"}}],"default":{}}]}]}}`)
	}
	plane := worlds.Decode(t, c.catalog, `{"type":"Dataplane","mesh":"default","name":"a","networking":{"address":"127.0.0.2",
		"inbound":[{"port":80,"tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}],"outbound":[{"port":10001,"tags":{"kuma.io/service":"web"}}]}}`)
	model, _ := resolve.Compile(api.NewSnapshot(0), dialects, c.kinds)
	bad, good := api.Change{After: routeTo("bad", "/bad")}, api.Change{After: routeTo("good", "/good")}
	atOnce, _ := resolve.NewDerived(model).Update([]api.Change{bad, good, {After: plane}})
	before, _ := resolve.NewDerived(model).Update([]api.Change{good, {After: plane}})
	later, affected := before.Update([]api.Change{bad})
	if len(affected.Dataplanes) > 0 {
		t.Errorf("what was not derived affects %v", affected.Dataplanes)
	}
	for _, d := range []*resolve.Derived{atOnce, later} {
		failures := d.Failures()
		if len(failures) != 1 || failures[0].Cause != "planted" || len(failures[0].Inputs) != 1 || failures[0].Inputs[0].Key != "MeshHTTPRoute//bad" {
			t.Errorf("failures are %v", failures)
		}
		if r, ok := d.Dataplane(plane.Ref); !ok || len(r.Outbounds[0].Table.Routes) != 2 {
			t.Errorf("the good route and the implicit one are missing: %s", contents(d.Dataplanes()))
		}
	}
	healed, affected := later.Update([]api.Change{{Before: bad.After}})
	if len(healed.Failures()) > 0 || len(affected.Dataplanes) > 0 {
		t.Errorf("still failing: %v, affected %v", healed.Failures(), affected.Dataplanes)
	}
}
