package resolve_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/resolvetest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
)

// verdictsOf are what becomes of some requests at the inbounds of a dataplane.
func verdictsOf(r *effective.Resolved) string {
	var b strings.Builder
	for _, in := range r.Inbounds {
		p := trafficpermission.Of(in.Policies.Of(trafficpermission.Kind.Name))
		for _, a := range []trafficpermission.Asked{
			{Names: []string{"spiffe://default/web"}, Request: &match.Request{Method: "GET", Path: "/"}}, {Names: []string{"spiffe://default/web"}},
			{Names: []string{"spiffe://default/orders"}, Request: &match.Request{Method: "POST", Path: "/"}}, {Names: []string{"spiffe://td/x/x"}}, {},
		} {
			v := p.Decide(&a)
			fmt.Fprintf(&b, "%s %s %v %v %d", r.Ref.Name, in.Name, a.Names, v.Allowed, v.Tier)
			if v.By != nil {
				b.WriteString(" " + v.By.Name)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// TestUpdateEqualsCompileWithPermissions is the law of updates in worlds in which it changes
// who may call whom: verdicts are those of a model that is compiled from nothing, and whose
// inbounds are judged alike shares what is said of them.
func TestUpdateEqualsCompileWithPermissions(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		state := snapshot.New(0)
		model, _ := resolve.Compile(state, c.dialects, c.kinds)
		for step := range rapid.IntRange(1, 12).Draw(t, "steps") {
			var changes []snapshot.Change
			switch rapid.IntRange(0, 4).Draw(t, "about") {
			case 0, 1:
				changes = worlds.ChangesOf(t, state, func(t *rapid.T) *api.Object { return worlds.Permission(t, c.catalog, "") })
			case 2:
				changes = worlds.ChangesOf(t, state, func(t *rapid.T) *api.Object { return identityDocument(t, c) })
			default:
				changes = worlds.Changes(t, c.catalog, state)
			}
			state = state.With(uint64(step+1), changes)
			next, affected := model.Update(state, changes)
			clean, _ := resolve.Compile(state, c.dialects, c.kinds)
			if diff := cmp.Diff(judged(clean)+resolvetest.Dump(clean), judged(next)+resolvetest.Dump(next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			if diff := cmp.Diff(clean.Kept(), next.Kept()); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) keep different things:\n%s\nchanges: %s", step, diff, describe(changes))
			}
			checkAffected(t, model, next, affected, changes)
			checkReach(t, next)
			checkNotes(t, next)
			checkSelected(t, next)
			model = next
		}
	})
}

func judged(m *resolve.Model) string {
	var b strings.Builder
	for r := range m.Dataplanes("") {
		b.WriteString(verdictsOf(r))
	}
	return b.String()
}

// TestNamespacesStayApart: what is edited in one namespace changes no verdict in another, and
// nothing there is worked out anew (spec/identity.md 7, I12).
func TestNamespacesStayApart(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	rapid.Check(t, func(t *rapid.T) {
		s := snapshot.New(0)
		var changes []snapshot.Change
		for i, ns := range []string{"a", "a", "b", "b"} {
			changes = append(changes, snapshot.Change{After: worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"d%d.%s","labels":{"k8s.kuma.io/namespace":%q,"team":%q},
				"networking":{"address":"10.0.0.%d","inbound":[{"port":80,"name":"main","tags":{"kuma.io/service":"web","kuma.io/protocol":"http"}}]}}`, i, ns, ns, []string{"x", "y"}[i%2], i+1))})
		}
		changes = append(changes, snapshot.Change{After: worlds.SecureMesh(t, world.Catalog(), worlds.StrictMTLS)})
		for range rapid.IntRange(0, 4).Draw(t, "policies") {
			changes = append(changes, snapshot.Change{After: worlds.Permission(t, c.catalog, rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"))})
		}
		s = s.With(1, changes)
		model, _ := resolve.Compile(s, c.dialects, c.kinds)
		edit := []snapshot.Change{{After: worlds.Permission(t, c.catalog, "a")}}
		next, affected := model.Update(s.With(2, edit), edit)
		for r := range next.Dataplanes("") {
			if was, _ := model.Dataplane(r.Ref); strings.HasSuffix(r.Ref.Name, ".b") && (was != r || slices.Contains(affected.Dataplanes, r.Ref)) {
				t.Fatalf("%s was\n%sand is\n%s", r.Ref, verdictsOf(was), verdictsOf(r))
			}
		}
	})
}

// TestPermissionsAreShared: dataplanes about which the same is said have one value, not one
// each.
func TestPermissionsAreShared(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	objects := []*api.Object{worlds.SecureMesh(t, world.Catalog(), worlds.StrictMTLS), worlds.Decode(t, c.catalog,
		`{"type":"MeshTrafficPermission","mesh":"default","name":"p","spec":{"rules":[{"default":{"allow":[{"spiffeID":{"type":"Prefix","value":"spiffe://default"}}]}}]}}`)}
	for i := range 3 {
		objects = append(objects, worlds.Decode(t, c.catalog, fmt.Sprintf(`{"type":"Dataplane","mesh":"default","name":"d%d","networking":{"address":"10.0.0.%d","inbound":[{"port":80,"tags":{"kuma.io/service":"web"}}]}}`, i, i+1)))
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), c.dialects, c.kinds)
	seen := map[*trafficpermission.Permissions]bool{}
	for r := range m.Dataplanes("") {
		seen[trafficpermission.Of(r.Inbounds[0].Policies.Of(trafficpermission.Kind.Name))] = true
	}
	if len(seen) != 1 {
		t.Errorf("%d values", len(seen))
	}
}
