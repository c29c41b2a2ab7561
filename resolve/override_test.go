package resolve_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestOverridesHold: in every world an override lies above every default, among
// overrides the layer that is farther from the route holds, and what lost to an
// override says so.
func TestOverridesHold(t *testing.T) {
	t.Parallel()
	c := newComposition(t)
	overridden := 0
	rapid.Check(t, func(t *rapid.T) {
		snapshot := snapshot.New(0)
		for step := range rapid.IntRange(4, 14).Draw(t, "steps") {
			snapshot = snapshot.With(uint64(step+1), worlds.Changes(t, c.catalog, snapshot))
		}
		model, _ := resolve.Compile(snapshot, c.dialects, c.kinds)
		for r := range model.Dataplanes("") {
			for e := range confsAt(r) {
				for _, f := range e.Fields {
					overridden += checkOverrides(t, f)
				}
			}
		}
	})
	if overridden == 0 {
		t.Error("no override met a default")
	}
}

// confsAt yields every conf that applies somewhere on the dataplane.
func confsAt(r *effective.Resolved) func(func(*policies.Effective) bool) {
	return func(yield func(*policies.Effective) bool) {
		var all []effective.Policies
		for _, o := range r.Outbounds {
			all = append(all, o.Policies)
			if o.Table != nil {
				for _, rt := range o.Table.Routes {
					all = append(all, rt.Policies)
				}
			}
		}
		for _, in := range r.Inbounds {
			all = append(all, in.Policies)
		}
		for _, c := range r.Clusters {
			all = append(all, c.Policies)
		}
		for _, list := range all {
			for _, e := range list {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// checkOverrides counts what an override replaced in one field.
func checkOverrides(t *rapid.T, f merge.Field) int {
	replaced := 0
	for i, s := range f.Said[1:] {
		below := f.Said[i]
		switch {
		case below.Override && !s.Override:
			t.Fatalf("a default of %s lies above an override of %s", s.Origin.Ref, below.Origin.Ref)
		case below.Override && below.Layer < merge.Route && s.Layer >= merge.Route:
			t.Fatalf("the override of a route, %s, lies above one that targets none, %s", s.Origin.Ref, below.Origin.Ref)
		case below.Override && below.Layer == merge.Route && s.Layer == merge.Rule:
			t.Fatalf("the override of a rule, %s, lies above one of a route, %s", s.Origin.Ref, below.Origin.Ref)
		}
	}
	for _, s := range f.Said {
		if f.Winner().Override && !s.Override {
			replaced++
			if s.Lost != merge.ByOverride && s.Layer != merge.Default {
				t.Fatalf("%s lost by %s, not by the override", s.Origin.Ref, s.Lost)
			}
		}
	}
	return replaced
}
