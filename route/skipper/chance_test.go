package skipper

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/route"
)

// lucky draws a group of routes that are taken by chance.
func lucky(t *rapid.T) *RouteGroup {
	g := &RouteGroup{Hosts: []string{"a.example"}, Backends: []Backend{{Name: "s", ServiceName: "s", ServicePort: 80}, {Name: "no", Type: shunt}},
		DefaultBackends: []BackendRef{{BackendName: "s"}}}
	for range rapid.IntRange(1, 6).Draw(t, "routes") {
		r := Route{Predicates: rapid.SliceOfN(rapid.SampledFrom([]string{
			"Traffic(.5)", "Traffic(.1)", "Traffic(1)", "Traffic(0)", `Traffic(.3, "c", "A")`, `Header("X", "1")`, `Header("Y", "1")`, `Cookie("c", "^B$")`,
		}), 0, 3).Draw(t, "predicates")}
		if rapid.Bool().Draw(t, "subtree") {
			r.PathSubtree = rapid.SampledFrom([]string{"/", "/a"}).Draw(t, "pathSubtree")
		} else {
			r.Path = rapid.SampledFrom([]string{"/a", "/:x", "/a/", "/**"}).Draw(t, "path")
		}
		if rapid.IntRange(0, 3).Draw(t, "parts") == 0 {
			r.Backends = []BackendRef{{BackendName: "s", Weight: new(uint32(3))}, {BackendName: "no", Weight: new(uint32(1))}}
		}
		if rapid.IntRange(0, 3).Draw(t, "sticky") == 0 {
			r.Filters = []string{`responseCookie("c", "A", 60, "change-only")`}
		}
		g.Routes = append(g.Routes, r)
	}
	return g
}

// chances are how often each route, and each of its parts, should take a request,
// where each Traffic draws for itself.
func chances(all []*planned, q *route.Request) map[string]float64 {
	out := map[string]float64{}
	left := 1.0
	var passed []*planned
	for left > 1e-9 {
		p := walk(all, q, passed)
		if p == nil {
			break
		}
		passed = append(passed, p)
		i := slices.IndexFunc(p.asks.options, func(o option) bool { return o.conditions.Holds(q) })
		taken := left * p.asks.options[i].chance
		for n, x := range p.parts {
			out[fmt.Sprintf("%s part %d", p.name(), n)] += taken * x.share
		}
		left -= taken
	}
	out["404"] = left
	return out
}

// drawnBy is the same, as the table divides the one draw that Envoy makes.
func drawnBy(table route.Composition, all []*planned, q *route.Request) map[string]float64 {
	cuts := []int64{0, route.Chances}
	for _, r := range table.Rows {
		for _, c := range r.Match.Conditions {
			if c.On == route.OnChance {
				cuts = append(cuts, c.Until)
			}
		}
	}
	slices.Sort(cuts)
	out := map[string]float64{"404": 0}
	for _, p := range all {
		for n := range p.parts {
			out[fmt.Sprintf("%s part %d", p.name(), n)] = 0
		}
	}
	for i, from := range cuts[:len(cuts)-1] {
		r := *q
		r.Draw = from
		key := "404"
		for _, row := range table.Rows {
			if row.Match.Holds(&r) {
				kind := service
				if _, no := row.Do.(*route.Respond); no {
					kind = shunt
				}
				p := all[*row.Origins[0].Rule]
				n := slices.IndexFunc(p.parts, func(x part) bool { return x.kind == kind })
				key = fmt.Sprintf("%s part %d", p.name(), n)
				break
			}
		}
		out[key] += float64(cuts[i+1]-from) / route.Chances
	}
	return out
}

// TestOneDrawDoesForAll: the thresholds of one draw give each route the share that it
// would have if each drew for itself.
func TestOneDrawDoesForAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		candidates, all := candidatesOf(t, lucky(t))
		table := compose(route.Frontend{Name: "a.example"}, candidates)
		for range 5 {
			q := anyRequest(t)
			headers := http.Header{}
			for _, name := range []string{"X", "Y"} {
				if rapid.Bool().Draw(t, name) {
					headers.Set(name, "1")
				}
			}
			if c := rapid.SampledFrom([]string{"", "c=A", "c=B"}).Draw(t, "cookie"); c != "" {
				headers.Set("Cookie", c)
			}
			q.Header = func(name string) []string { return headers.Values(name) }
			want, got := chances(all, q), drawnBy(table, all, q)
			for key, share := range got {
				if math.Abs(share-want[key]) > 1e-5 {
					t.Fatalf("%s %v: %s has %v, want %v", q.Path, headers, key, got, want)
				}
			}
		}
	})
}
