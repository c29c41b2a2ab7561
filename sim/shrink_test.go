package sim_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// kept is a disagreement that was found once, in the form in which it is kept.
type kept struct {
	Why     string      `json:"why"`
	Request sim.Request `json:"request"`
	Routes  []keptRoute `json:"routes"`
}

type keptRoute struct {
	Name     string            `json:"name"`
	Match    route.Match       `json:"match"`
	Filters  []route.Filter    `json:"filters,omitempty"`
	Redirect *route.Redirect   `json:"redirect,omitempty"`
	Respond  *route.Respond    `json:"respond,omitempty"`
	Backends []resolve.Backend `json:"backends"`
}

func caseText(p pair, why string) string {
	c := kept{Why: why, Request: p.Request}
	for _, r := range p.Routes {
		redirect, _ := r.Answer.(*route.Redirect)
		respond, _ := r.Answer.(*route.Respond)
		c.Routes = append(c.Routes, keptRoute{r.Name, r.Match, r.Filters, redirect, respond, r.Backends})
	}
	b, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// TestKeptCases asks again what simulator and Envoy once disagreed on.
func TestKeptCases(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/envoy/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var pairs []pair
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var c kept
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		p := pair{Request: c.Request}
		for _, r := range c.Routes {
			rt := &resolve.Route{Name: r.Name, Key: r.Name, Match: r.Match, Matches: []route.Match{r.Match}, Filters: r.Filters, Backends: r.Backends}
			switch {
			case r.Redirect != nil:
				rt.Answer = r.Redirect
			case r.Respond != nil:
				rt.Answer = r.Respond
			}
			p.Routes = append(p.Routes, rt)
		}
		pairs = append(pairs, p)
	}
	for i, why := range disagreements(t, pairs, nil) {
		if why != "" {
			t.Errorf("%s: %s", files[i], why)
		}
	}
}

// shrink takes away from a pair what it disagrees without. All ways to make it
// smaller are asked of one Envoy.
func shrink(t *testing.T, p pair) (pair, string) {
	t.Helper()
	why := disagreements(t, []pair{p}, nil)[0]
	for range 40 {
		smaller := reductions(p)
		if len(smaller) == 0 {
			break
		}
		reasons := disagreements(t, smaller, nil)
		i := slices.IndexFunc(reasons, func(r string) bool { return r != "" })
		if i < 0 {
			break
		}
		p, why = smaller[i], reasons[i]
	}
	return p, why
}

// reductions are p without one of its parts each.
func reductions(p pair) []pair {
	var out []pair
	for i, r := range p.Routes {
		if len(p.Routes) > 1 {
			out = append(out, pair{slices.Delete(cloned(p.Routes), i, i+1), p.Request})
		}
		for _, smaller := range simpler(r) {
			routes := cloned(p.Routes)
			routes[i] = smaller
			out = append(out, pair{routes, p.Request})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Request.Headers)) {
		q := p.Request
		q.Headers = maps.Clone(q.Headers)
		delete(q.Headers, name)
		out = append(out, pair{cloned(p.Routes), q})
	}
	if p.Request.Method != "GET" {
		q := p.Request
		q.Method = "GET"
		out = append(out, pair{cloned(p.Routes), q})
	}
	return out
}

// cloned has routes of its own: their pointers tell worlds apart.
func cloned(routes []*resolve.Route) []*resolve.Route {
	out := make([]*resolve.Route, len(routes))
	for i, r := range routes {
		c := *r
		out[i] = &c
	}
	return out
}

// simpler are r without one of its parts each.
func simpler(r *resolve.Route) []*resolve.Route {
	var out []*resolve.Route
	add := func(change func(*resolve.Route)) {
		c := *r
		change(&c)
		out = append(out, &c)
	}
	if len(r.Policies) > 0 {
		add(func(c *resolve.Route) { c.Policies = nil })
	}
	without := func(n int, change func(*resolve.Route, int)) {
		for i := range n {
			add(func(c *resolve.Route) { change(c, i) })
		}
	}
	without(len(r.Match.Conditions), func(c *resolve.Route, i int) {
		c.Match.Conditions = slices.Delete(slices.Clone(c.Match.Conditions), i, i+1)
	})
	if r.Answer != nil {
		add(func(c *resolve.Route) { c.Answer = nil })
	}
	without(len(r.Filters), func(c *resolve.Route, i int) { c.Filters = slices.Delete(slices.Clone(c.Filters), i, i+1) })
	if len(r.Backends) > 1 {
		without(len(r.Backends), func(c *resolve.Route, i int) { c.Backends = slices.Delete(slices.Clone(c.Backends), i, i+1) })
	}
	return out
}
