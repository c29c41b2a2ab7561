package inspect_test

import (
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
)

// What is said about one object is part of the whole, with every rule where it has a say, and
// what is said in brief is the whole without policies.
func TestAboutAndBriefArePartsOfTheWhole(t *testing.T) {
	m := model(t, street)
	e, err := inspect.Explain(m, plane("a-1"), "")
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
		got := 0
		for _, o := range e.About(ref, 1000).Outbounds {
			got += len(o.Routes)
		}
		if got != want {
			t.Errorf("about %s: %d rules, wanted %d", ref, got, want)
		}
		if cut := e.About(ref, 0); len(cut.Outbounds) != 0 || len(cut.Notes) == 0 || cut.Notes[len(cut.Notes)-1].Code != "Cut" {
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
