package xds_test

import (
	"runtime"
	"strings"
	"testing"
	"time"
	"weak"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/check"
	"github.com/weftmesh/weft/xds/clusters"
	"github.com/weftmesh/weft/xds/routes"
)

// TestClustersOfATable: a table comes after the clusters that it names (spec/xds.md
// 4), so it says each of them once, those of splits and mirrors too, and none
// that will never come.
func TestClustersOfATable(t *testing.T) {
	t.Parallel()
	lost := effective.Mirror{Backend: broken(1), Percent: 50}
	copied := effective.Mirror{Backend: to("m", 1), Percent: 50}
	redirect := &route.Redirect{Hostname: "there"}
	for name, c := range map[string]struct {
		backends []effective.Backend
		mirrors  []effective.Mirror
		answer   route.DirectResponse
		want     []string
	}{
		"one":                      {[]effective.Backend{to("a", 1)}, nil, nil, []string{"a"}},
		"a split":                  {[]effective.Backend{to("b", 1), to("a", 1)}, nil, nil, []string{"a", "b"}},
		"one of them twice":        {[]effective.Backend{to("b", 1), to("a", 1), to("b", 2)}, nil, nil, []string{"a", "b"}},
		"a share that is nowhere":  {[]effective.Backend{to("b", 1), broken(1), to("a", 1)}, nil, nil, []string{"a", "b"}},
		"a share of nothing":       {[]effective.Backend{to("b", 1), to("a", 0)}, nil, nil, []string{"b"}},
		"only shares of nowhere":   {[]effective.Backend{broken(1), broken(2)}, []effective.Mirror{copied}, nil, nil},
		"a mirror":                 {[]effective.Backend{to("z", 1)}, []effective.Mirror{lost, copied}, nil, []string{"m", "z"}},
		"a redirect names nothing": {[]effective.Backend{to("a", 1)}, []effective.Mirror{copied}, redirect, nil},
	} {
		r := rule("r", path(match.SegmentPrefix, "/a"))
		r.Answer, r.Backends, r.Mirrors = c.answer, c.backends, c.mirrors
		got := routes.RenderTable(&effective.Table{Destination: web(), Routes: []*effective.Route{r}}, nil).Clusters
		if d := cmp.Diff(c.want, got); d != "" && len(c.want)+len(got) > 0 {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// TestOneNoteForEachOrigin: what is wrong with a route is said once to everybody
// who may have written it.
func TestOneNoteForEachOrigin(t *testing.T) {
	t.Parallel()
	r := rule("r", path(match.SegmentPrefix, "/a"), route.Filter{RequestHeaders: &route.HeaderModifier{Remove: []string{"host"}}})
	r.Origins = append(r.Origins, by("other"))
	notes := routes.RenderTable(table(r), nil).Notes
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

// TestWhereTheWorkloadIs: an address is taken as it is, a name is looked up.
func TestWhereTheWorkloadIs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]clusterv3.Cluster_DiscoveryType{
		"127.0.0.1": clusterv3.Cluster_STATIC, "::1": clusterv3.Cluster_STATIC, "workload.local": clusterv3.Cluster_STRICT_DNS,
	} {
		in := &effective.Inbound{Address: "127.0.0.1", Port: 80, ServiceAddress: address, ServicePort: 8080, Protocol: api.TCP}
		s := renderer().Render(sidecar(nil, nil, in))
		cluster := envoytest.Open(t, find(t, s.Clusters, "inbound:127.0.0.1:80"), &clusterv3.Cluster{})
		if got := cluster.GetType(); got != want {
			t.Errorf("%s: %v, wanted %v", address, got, want)
		}
	}
}

// TestAnExternalServiceOfNothing gives no cluster and says why, to its writer.
func TestAnExternalServiceOfNothing(t *testing.T) {
	t.Parallel()
	ref := api.Ref{Kind: api.KindMeshExternalService, Mesh: "default", Name: "x"}
	d := &effective.Destination{ID: "extsvc_x:443", Kind: api.KindMeshExternalService, Ref: ref, External: &api.MeshExternalService{}}
	r, notes := clusters.Render(&effective.Cluster{Name: d.ID, Destination: d}, nil)
	if r != nil || len(notes) != 1 || notes[0].Origin.Ref != ref || !strings.Contains(notes[0].Message, "names no endpoint") {
		t.Errorf("%v %+v", r, notes)
	}
}

// TestEachListenerHasItsOwnPolicies: sidecars that call one table share what is
// rendered of their listeners only where the same policies stand in it.
func TestEachListenerHasItsOwnPolicies(t *testing.T) {
	t.Parallel()
	limited := effective.Policies{confs(t)["timeout"]}
	tab, x := table(), renderer()
	version := func(tab *effective.Table, ps effective.Policies) string {
		r := sidecar([]*effective.Table{tab}, nil)
		r.Outbounds[0].Policies = ps
		return x.Render(r).Listeners[0].Version
	}
	without, with, again := version(tab, nil), version(tab, limited), version(tab, nil)
	if without == with || without != again || with != version(table(), limited) {
		t.Errorf("versions without %s, with %s, without again %s; alone %s and %s",
			without, with, again, version(table(), nil), version(table(), limited))
	}
}

// TestAnExpressionMayBeSoLong: its source has a limit of its own, because what
// reads it takes time for every byte.
func TestAnExpressionMayBeSoLong(t *testing.T) {
	t.Parallel()
	for length, fine := range map[int]bool{1024: true, 1025: false} {
		r := good()
		r.Match = onPath("/")
		r.Match.GetSafeRegex().Regex = "/" + strings.Repeat("[aaa]", 204) + strings.Repeat("b", length-1-5*204)
		if err := check.Route(r); (err == nil) != fine {
			t.Errorf("%d bytes: %v", length, err)
		}
	}
}

// TestNothingIsSentUnchecked: what no reader lets in is still not sent, and the
// note names who wrote it.
func TestNothingIsSentUnchecked(t *testing.T) {
	t.Parallel()
	never := api.Duration(-time.Second)
	u := use("web:8080", web())
	u.Policies = effective.Policies{fold(t, timeout.Kind, &timeout.Conf{ConnectionTimeout: &never})}
	cluster, notes := clusters.Render(u.Cluster, nil)
	if cluster != nil || len(notes) != 1 || notes[0].Severity != api.Error || !strings.Contains(notes[0].Message, "nobody can call it") {
		t.Errorf("cluster %v, notes %v", cluster, notes)
	}
}

// TestAClusterIsSharedByWhoHasIt: all who have a cluster have one rendering of it, which goes with the
// last of them, and comes again as it was. Why there is none is found out once.
func TestAClusterIsSharedByWhoHasIt(t *testing.T) {
	t.Parallel()
	u, beside := use("web:8080", web()), new(effective.Derived)
	first, _ := clusters.Render(u.Cluster, beside)
	second, _ := clusters.Render(u.Cluster, beside)
	if first != second {
		t.Error("two have two renderings")
	}
	version, held := first.Version, weak.Make(first)
	runtime.KeepAlive(second)
	first, second = nil, nil
	for range 3 {
		runtime.GC()
	}
	if held.Value() != nil {
		t.Error("it is kept for nobody")
	}
	if again, _ := clusters.Render(u.Cluster, beside); again.Version != version {
		t.Errorf("it is %s, and was %s", again.Version, version)
	}
	never := api.Duration(-time.Second)
	u.Policies = effective.Policies{fold(t, timeout.Kind, &timeout.Conf{ConnectionTimeout: &never})}
	beside = new(effective.Derived)
	_, notes := clusters.Render(u.Cluster, beside)
	if r, again := clusters.Render(u.Cluster, beside); r != nil || len(notes) != 1 || &notes[0] != &again[0] {
		t.Errorf("%v, then %v", notes, again)
	}
}
