package sim_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// grid counts how often a match kind, a filter and a policy field stood on one
// route that a request took.
type grid map[cell]int

type cell struct{ match, filter, field string }

func (g grid) count(r *resolve.Resolved, p pair) {
	v, err := run(r, p.Request)
	if err != nil || v.Branches[0].Route == nil {
		return
	}
	i := slices.IndexFunc(p.Routes, func(x *resolve.Route) bool { return x.Name == v.Branches[0].Route.Name })
	for _, m := range matches.Kinds(&p.Routes[i].Match) {
		for _, f := range filterKinds(p.Routes[i]) {
			for _, field := range fieldNames(p.Routes[i].Policies) {
				g[cell{m, f, field}]++
			}
		}
	}
}

func filterKinds(r *resolve.Route) []string {
	out := []string{}
	path := func(kind string, p *route.PathRewrite) {
		switch {
		case p != nil && p.Full != nil:
			out = append(out, kind+" full path")
		case p != nil && p.Prefix != nil:
			out = append(out, kind+" prefix")
		default:
			out = append(out, kind)
		}
	}
	switch do := r.Answer.(type) {
	case *route.Redirect:
		path("redirect", do.Path)
	case *route.Respond:
		out = append(out, "respond")
	}
	for i := range r.Filters {
		switch f := &r.Filters[i]; {
		case f.RequestHeaders != nil:
			out = append(out, "request headers")
		case f.ResponseHeaders != nil:
			out = append(out, "response headers")
		case f.Mirror != nil:
			out = append(out, "mirror")
		case f.Rewrite != nil:
			path("rewrite", f.Rewrite.Path)
		}
	}
	if len(out) == 0 {
		return []string{"none"}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func fieldNames(list resolve.Policies) []string {
	var out []string
	for _, e := range list {
		for _, f := range e.Fields {
			out = append(out, e.Kind.Name+" "+e.Kind.Schema.Leaves[f.Field].Path)
		}
	}
	return append(out, "none")
}

// report prints the least and the sum of each match kind with each filter, over
// all policy fields. In a long run no cell may be under 20.
func (g grid) report(t *testing.T) {
	t.Helper()
	all := [3]map[string]bool{{}, {}, {}}
	for c := range g {
		all[0][c.match], all[1][c.filter], all[2][c.field] = true, true, true
	}
	var text strings.Builder
	least := cell{}
	low := -1
	for _, m := range slices.Sorted(maps.Keys(all[0])) {
		fmt.Fprintf(&text, "\n%-26s", m)
		for _, f := range slices.Sorted(maps.Keys(all[1])) {
			few := -1
			for field := range all[2] {
				n := g[cell{m, f, field}]
				if few < 0 || n < few {
					few = n
				}
				if low < 0 || n < low {
					low, least = n, cell{m, f, field}
				}
			}
			fmt.Fprintf(&text, " %s=%d", f, few)
		}
	}
	t.Logf("the least covered policy field of each match kind and filter:%s\nleast of %d cells: %d in %v", text.String(),
		len(all[0])*len(all[1])*len(all[2]), low, least)
	if number(t, "WEFT_PAIRS", 0) >= 100_000 && low < 20 {
		t.Errorf("cell %v has only %d pairs", least, low)
	}
}
