package xds_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds"
)

// TestClustersOfATable: a table comes after the clusters that it names (xds.md
// 3), so it says each of them once, those of splits and mirrors too, and none
// that will never come.
func TestClustersOfATable(t *testing.T) {
	t.Parallel()
	lost := resolve.Mirror{Backend: broken(1), Percent: 50}
	copied := resolve.Mirror{Backend: to("m", 1), Percent: 50}
	redirect := route.Filter{Redirect: &route.Redirect{Hostname: "there"}}
	for name, c := range map[string]struct {
		backends []resolve.Backend
		mirrors  []resolve.Mirror
		filters  []route.Filter
		want     []string
	}{
		"one":                      {[]resolve.Backend{to("a", 1)}, nil, nil, []string{"a"}},
		"a split":                  {[]resolve.Backend{to("b", 1), to("a", 1)}, nil, nil, []string{"a", "b"}},
		"one of them twice":        {[]resolve.Backend{to("b", 1), to("a", 1), to("b", 2)}, nil, nil, []string{"a", "b"}},
		"a share that is nowhere":  {[]resolve.Backend{to("b", 1), broken(1), to("a", 1)}, nil, nil, []string{"a", "b"}},
		"a share of nothing":       {[]resolve.Backend{to("b", 1), to("a", 0)}, nil, nil, []string{"b"}},
		"only shares of nowhere":   {[]resolve.Backend{broken(1), broken(2)}, []resolve.Mirror{copied}, nil, nil},
		"a mirror":                 {[]resolve.Backend{to("z", 1)}, []resolve.Mirror{lost, copied}, nil, []string{"m", "z"}},
		"a redirect names nothing": {[]resolve.Backend{to("a", 1)}, []resolve.Mirror{copied}, []route.Filter{redirect}, nil},
	} {
		r := rule("r", path(route.Prefix, "/a"), c.filters...)
		r.Backends, r.Mirrors = c.backends, c.mirrors
		got := xds.RenderTable(&resolve.Table{Destination: web(), Routes: []*resolve.Route{r}}).Clusters
		if d := cmp.Diff(c.want, got); d != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestOneNoteForBothHalves: a prefix becomes two Envoy routes, but what is wrong
// with it is said once, to everybody who may have written it.
func TestOneNoteForBothHalves(t *testing.T) {
	t.Parallel()
	r := rule("r", path(route.Prefix, "/a"), route.Filter{RequestHeaders: &route.HeaderModifier{Remove: []string{"host"}}})
	r.Origins = append(r.Origins, by("other"))
	notes := xds.RenderTable(table(r)).Notes
	var got []string
	for _, n := range notes {
		got = append(got, n.Code+" "+n.Origin.Name)
		if n.Severity != api.Error {
			t.Errorf("%s is %v", n.Code, n.Severity)
		}
	}
	if d := cmp.Diff([]string{"Rejected r", "Rejected other"}, got); d != "" {
		t.Errorf("notes (-want +got):\n%s", d)
	}
}
