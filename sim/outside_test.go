package sim_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// TestHostsOfManyBackends: of several backends each one outside the mesh gets its
// own name; those inside, those that lead nowhere, those outside that have no
// endpoint, and those without a cluster keep the request as it is.
func TestHostsOfManyBackends(t *testing.T) {
	t.Parallel()
	r := shop(everything(lost(1), to("v1", 1), to("v2", 1), to("empty", 1), to("unknown", 1)))
	for i := range r.Clusters[1:] {
		r.Clusters[i+1].Destination.External = &api.MeshExternalService{}
	}
	r.Clusters[1].List[0].Address = "api.example.org"
	v, err := run(r, wire.Request{URL: "http://web:8080/"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, branch := range v.Branches {
		for _, b := range branch.Backends {
			got[b.Name] = ""
			if b.Forwarded != nil {
				got[b.Name] = b.Forwarded.Authority
			}
		}
	}
	for name, want := range map[string]string{"nosuch": "", "v1": "", "v2": "api.example.org", "empty": "", "unknown": ""} {
		if has, ok := got[name]; !ok || has != want {
			t.Errorf("%s gets %q, wanted %q; of %v", name, has, want, got)
		}
	}
}

// TestBytesAreCertain: a destination that speaks no HTTP has one branch.
func TestBytesAreCertain(t *testing.T) {
	t.Parallel()
	v, err := run(town(), wire.Request{URL: "http://db:5432/"})
	if err != nil || len(v.Branches) != 1 || v.Branches[0].Probability != 1 || v.Branches[0].Outcome != sim.Forward {
		t.Errorf("%+v %v", v.Branches, err)
	}
}

// TestHostsOfBackendsWithFilters: a backend outside the mesh is called by its own
// name, whatever host a filter of the backend sets; the host of the rule, and at an
// address the filter, hold.
func TestHostsOfBackendsWithFilters(t *testing.T) {
	t.Parallel()
	named := func(host string) []route.Filter { return []route.Filter{{Rewrite: &route.Rewrite{Hostname: host}}} }
	header := []route.Filter{{RequestHeaders: &route.HeaderModifier{Set: []route.Header{{Name: "x", Value: "1"}}}}}
	backend := func(name string, filters []route.Filter) effective.Backend {
		b := to(name, 1)
		if b.Filters = filters; name != "v1" {
			b.Kind = api.KindMeshExternalService
		}
		return b
	}
	cases := []struct {
		rule     []route.Filter
		backends []effective.Backend
		want     map[string]string
	}{
		{nil, []effective.Backend{backend("v2", named("mine"))}, map[string]string{"v2": "localhost"}},
		{nil, []effective.Backend{backend("v2", header)}, map[string]string{"v2": "localhost"}},
		{nil, []effective.Backend{backend("v3", named("mine"))}, map[string]string{"v3": "mine"}},
		{nil, []effective.Backend{backend("v1", named("a")), backend("v2", named("b")), backend("v3", named("c"))}, map[string]string{"v1": "a", "v2": "localhost", "v3": "c"}},
		{named("rule"), []effective.Backend{backend("v2", named("mine"))}, map[string]string{"v2": "mine"}},
		{named("rule"), []effective.Backend{backend("v1", named("a")), backend("v2", nil)}, map[string]string{"v1": "a", "v2": "rule"}},
	}
	var routes []*effective.Route
	for i, c := range cases {
		rt := everything(c.backends...)
		rt.Name, rt.Match, rt.Filters = fmt.Sprint(i), matches.Of(exact(fmt.Sprintf("/%d", i))), c.rule
		routes = append(routes, rt)
	}
	r := shop(routes...)
	for i, host := range []string{"127.0.0.1", "localhost", "127.0.0.1"} {
		use := r.Clusters[i]
		use.List[0] = effective.Endpoint{Address: host, Port: 1}
		if i > 0 {
			use.Destination.External = &api.MeshExternalService{Endpoints: []api.ExternalEndpoint{{Address: host, Port: 1}}}
		}
	}
	for i, c := range cases {
		v, err := run(r, wire.Request{URL: fmt.Sprintf("http://web:8080/%d", i)})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, authorities(v.Branches[0])); d != "" {
			t.Errorf("case %d (-want +got):\n%s", i, d)
		}
	}
}

// authorities is by which name each backend of a branch is called.
func authorities(b sim.Branch) map[string]string {
	out := map[string]string{}
	for _, x := range b.Backends {
		f := b.Forwarded
		if x.Forwarded != nil {
			f = x.Forwarded
		}
		out[x.Name] = f.Authority
	}
	return out
}

// TestTheHostOfSeveralAddresses: where a backend is several addresses, each of which is called by its own host,
// the verdict says that it shows the first alone. One address needs no such word, and a service outside is one
// whose endpoints are called alike.
func TestTheHostOfSeveralAddresses(t *testing.T) {
	t.Parallel()
	const told = "host: the one shown is that of the first address of v2; each is called by its own"
	for name, c := range map[string]struct {
		kind    string
		list    []effective.Endpoint
		unknown bool
		want    string
	}{
		"one address":                {api.KindAddress, []effective.Endpoint{{Address: "a.example.org", Port: 80}}, false, "a.example.org"},
		"two addresses":              {api.KindAddress, []effective.Endpoint{{Address: "a.example.org", Port: 80}, {Address: "b.example.org", Port: 80}}, true, "a.example.org"},
		"two endpoints of a service": {api.KindMeshExternalService, []effective.Endpoint{{Address: "a.example.org", Port: 80}, {Address: "b.example.org", Port: 80}}, false, "a.example.org"},
	} {
		rt := everything(to("v2", 1))
		rt.Filters = []route.Filter{{Rewrite: &route.Rewrite{BackendsHost: true}}}
		r := shop(rt)
		use := r.ClusterNamed("v2")
		use.Destination.Kind, use.Destination.External, use.Endpoints.List = c.kind, &api.MeshExternalService{}, c.list
		v, err := run(r, wire.Request{URL: "http://web:8080/"})
		if err != nil {
			t.Fatal(err)
		}
		if got := authorities(v.Branches[0])["v2"]; got != c.want || slices.Contains(v.Unknown, told) != c.unknown {
			t.Errorf("%s: called as %q, unknown is %q", name, got, v.Unknown)
		}
	}
}
