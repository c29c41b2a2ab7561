// Package laws has what holds of every language of routes: tests of the languages
// ask for it.
package laws

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// everything is what a model says of every dataplane and object, and what Envoys get.
func everything(t *rapid.T, model *resolve.Model) string {
	var b strings.Builder
	reader, renderer := model.Reader(nil), xds.NewRenderer(world.Kinds())
	for r := range model.Dataplanes("") {
		e, err := explain.Of(reader, r.Ref, "")
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
		s := renderer.Render(r)
		for _, list := range [][]*resource.Resource{s.Listeners, s.Routes, s.Clusters, s.Endpoints, s.Secrets} {
			for _, x := range list {
				fmt.Fprintf(&b, " %s %s\n", x.Name, x.Version)
			}
		}
	}
	for s := range model.Destinations("default") {
		fmt.Fprintf(&b, "%s\n", s.ID)
	}
	for _, s := range conditions.OverviewOf(reader, "default", nil).Objects {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", text)
	}
	return b.String()
}

// UpdateEqualsCompile: whatever a dialect looks at, the model derived step by step is
// the one compiled from nothing, and exactly the dataplanes that came out different
// are affected. Changes draws some changes of a snapshot.
func UpdateEqualsCompile(t *testing.T, dialects []route.Dialect, changes func(*rapid.T, *snapshot.Snapshot) []snapshot.Change) {
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshot.New(0)
		model, _ := resolve.Compile(snapshot, dialects, world.Kinds())
		for step := range rapid.IntRange(1, 10).Draw(t, "steps") {
			list := changes(t, snapshot)
			snapshot = snapshot.With(uint64(step+1), list)
			next, affected := model.Update(snapshot, list)
			clean, _ := resolve.Compile(snapshot, dialects, world.Kinds())
			if diff := cmp.Diff(everything(t, clean), everything(t, next)); diff != "" {
				t.Fatalf("step %d: compiled (-) and updated (+) differ:\n%s", step, diff)
			}
			held(t, model, next, affected, list)
			model = next
		}
	})
}

// held wants those dataplanes to be affected of which something came out different.
func held(t *rapid.T, model, next *resolve.Model, affected resolve.Affected, list []snapshot.Change) {
	regrouped := slices.ContainsFunc(list, regroups) || !maps.Equal(audiences(model), audiences(next))
	for r := range next.Dataplanes("") {
		old, had := model.Dataplane(r.Ref)
		if (old == r) == slices.Contains(affected.Dataplanes, r.Ref) {
			t.Fatalf("%s: same value %v, but affected are %v", r.Ref, old == r, affected.Dataplanes)
		}
		if had && old != r && old.Dataplane == r.Dataplane && !regrouped &&
			cmp.Equal(old, r, cmpopts.IgnoreTypes(&effective.Derived{}, &effective.Cache{}, &policies.Kind{}), cmpopts.EquateComparable(api.Ref{}), cmp.Comparer(func(a, b *api.Object) bool { return a == b })) {
			t.Fatalf("%s came out as before, but is affected", r.Ref)
		}
	}
}

// audience is for whom some entry of a route speaks at a destination.
type audience struct {
	destination, port, callers string
	edges                      api.Edges
}

// audiences are those for whom the routes of a model speak, where it is not everybody:
// each tells dataplanes apart.
func audiences(model *resolve.Model) map[audience]bool {
	out, reader := map[audience]bool{}, model.Reader(nil)
	for o := range reader.Snapshot().All() {
		r, ok := reader.Route(o.Ref)
		if !ok {
			continue
		}
		for i := range r.Entries {
			if e := &r.Entries[i]; e.Callers != "" || e.Edges != (api.Edges{}) {
				out[audience{e.To.Name, e.To.SectionName, e.Callers, e.Edges}] = true
			}
		}
	}
	return out
}

// regroups reports whether a change may put dataplanes together that were apart.
func regroups(c snapshot.Change) bool {
	return slices.ContainsFunc([]*api.Object{c.Before, c.After}, func(o *api.Object) bool {
		if o == nil {
			return false
		}
		spec, ok := o.Spec.(interface{ Top() api.TargetRef })
		return o.Kind == api.KindMesh || ok && spec.Top().Kind != api.KindMesh
	})
}
