package explain_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/internal/inspecttest"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/sim"
)

// What is said about one object is part of the whole, with every rule where it has a say, and
// what is said in brief is the whole without policies.
func TestAboutAndBriefArePartsOfTheWhole(t *testing.T) {
	m := inspecttest.Model(t, inspecttest.Street)
	e, err := explain.Of(m, inspecttest.Plane("a-1"), "")
	if err != nil {
		t.Fatal(err)
	}
	said := map[api.Ref]int{} // in how many rules an object has a say
	for _, o := range e.Outbounds {
		for _, r := range o.Routes {
			here := map[api.Ref]bool{}
			for _, x := range r.Origins {
				here[x.Ref] = true
			}
			for _, p := range r.Policies {
				for _, all := range p.Why {
					for _, s := range all {
						if s.Origin != nil && s.Origin.Name != "" {
							here[s.Origin.Ref] = true
						}
					}
				}
			}
			for ref := range here {
				said[ref]++
			}
		}
	}
	if len(said) < 2 {
		t.Fatalf("the world says too little: %v", said)
	}
	for ref, want := range said {
		about := func(most int) explain.Explanation {
			e, err := explain.About(m, inspecttest.Plane("a-1"), "", ref, inspect.ListOptions{}, most)
			if err != nil {
				t.Fatal(err)
			}
			return e
		}
		got := 0
		for _, o := range about(1000).Outbounds {
			got += len(o.Routes)
		}
		if got != want {
			t.Errorf("about %s: %d rules, wanted %d", ref, got, want)
		}
		if cut := about(0); len(cut.Outbounds) != 0 || len(cut.Notes) == 0 || cut.Notes[len(cut.Notes)-1].Code != "Cut" {
			t.Errorf("about %s, cut to nothing: %+v", ref, cut.Notes)
		}
	}
	brief := e.Brief()
	if len(brief.Outbounds) != len(e.Outbounds) || len(e.Outbounds[0].Routes[0].Policies) == 0 {
		t.Fatal("the whole was changed, or the outbounds are others")
	}
	for i, o := range brief.Outbounds {
		if len(o.Policies) > 0 || len(o.Routes) != len(e.Outbounds[i].Routes) || len(o.Routes) > 0 && len(o.Routes[0].Policies) > 0 {
			t.Errorf("brief %s has policies, or other rules", o.ID)
		}
	}
}

// What a policy says of some callers alone is a say at an inbound.
func TestAboutAPolicyForSomeCallers(t *testing.T) {
	t.Parallel()
	text, violations := world.Decode("callers.yaml", []byte(`
{type: MeshTimeout, mesh: default, name: some, spec: {targetRef: {kind: Dataplane}, rules: [{matches: [{spiffeID: {type: Exact, value: "spiffe://default/b"}}], default: {http: {requestTimeout: 2s}}}]}}
`))
	if len(violations) > 0 {
		t.Fatal(violations[0])
	}
	m := inspecttest.SecureModel(t, ", mtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: STRICT}]}", true)
	changes := []snapshot.Change{{After: text[0]}}
	m, _ = m.Update(m.Written().With(2, changes), changes)
	e, err := explain.About(m.Reader(nil), inspecttest.Plane("a"), "", text[0].Ref, inspect.ListOptions{}, -1)
	if err != nil || len(e.Inbounds) != 1 || len(e.Inbounds[0].Callers) != 1 {
		t.Errorf("%v: %+v", err, e.Inbounds)
	}
}

// TestAboutIsCutFromTheWhole: what is said about an object, for which only what it has a say in is
// explained, is what is left of the whole where nothing else is.
func TestAboutIsCutFromTheWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := worlds.Snapshot(t, world.Catalog(), 5)
		m, _ := world.Compile(s)
		q := m.Reader(nil)
		part := inspect.ListOptions{Offset: rapid.IntRange(0, 1).Draw(t, "offset"), Size: rapid.IntRange(0, 2).Draw(t, "size")}
		most := rapid.IntRange(-1, 1).Draw(t, "most")
		for r := range m.Dataplanes("") {
			whole, err := explain.Of(q, r.Ref, "")
			if err != nil {
				t.Fatal(err)
			}
			for o := range q.Attachable(r.Ref.Mesh) {
				got, err := explain.About(q, r.Ref, "", o.Ref, part, most)
				if err != nil {
					t.Fatal(err)
				}
				if want, got := printed(t, cutTo(whole, o.Ref, part, most)), printed(t, got); got != want {
					t.Fatalf("%s about %s:\n%s\nwhat is cut from the whole:\n%s", r.Ref, o.Ref, got, want)
				}
			}
		}
	})
}

func printed(t *rapid.T, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// cutTo leaves of the whole what is about one object.
func cutTo(e explain.Explanation, object api.Ref, part inspect.ListOptions, most int) explain.Explanation {
	is := func(o *api.Origin) bool { return o != nil && o.Ref == object }
	speaks := func(all map[string]sim.Policy) bool {
		for _, p := range all {
			for _, said := range p.Why {
				if slices.ContainsFunc(said, func(s sim.Opinion) bool { return is(s.Origin) }) {
					return true
				}
			}
		}
		return false
	}
	outbounds, inbounds := []explain.Outbound{}, []explain.Inbound{}
	for _, o := range e.Outbounds {
		routes := o.Routes
		o.Routes = []explain.Route{}
		for _, r := range routes {
			if slices.ContainsFunc(r.Origins, is) || slices.ContainsFunc(r.Via, is) || speaks(r.Policies) {
				o.Routes = append(o.Routes, r)
			}
		}
		if len(o.Routes) > 0 || len(routes) == 0 && speaks(o.Policies) {
			outbounds = append(outbounds, o)
		}
	}
	for _, in := range e.Inbounds {
		if speaks(in.Policies) || slices.ContainsFunc(in.Callers, func(c explain.CallerPolicies) bool { return speaks(c.Policies) }) {
			inbounds = append(inbounds, in)
		}
	}
	e.OutboundsTotal = len(outbounds)
	outbounds = outbounds[min(part.Offset, len(outbounds)):]
	if part.Size > 0 {
		outbounds = outbounds[:min(part.Size, len(outbounds))]
	}
	e.Notes = slices.DeleteFunc(slices.Clone(e.Notes), func(n api.Note) bool { return !is(n.Origin) })
	if more := len(outbounds) - most; most >= 0 && more > 0 {
		outbounds = outbounds[:most]
		e.Notes = append(e.Notes, api.Note{Severity: api.Info, Code: "Cut", Message: fmt.Sprintf("%d more outbounds are not shown; ask about one by to", more)})
	}
	e.Outbounds, e.Inbounds, e.Edges, e.NotApplied, e.NotAppliedTotal = outbounds, inbounds, nil, []explain.NotApplied{}, 0
	return e
}
