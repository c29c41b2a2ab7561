package toydialect_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
)

// limits are hosts with a limit of their own, between those of the mesh and those of
// the routes. The objects come in the order of their names: the first one holds.
const limits = `
type: Mesh
name: default
meshServices: {mode: Exclusive}
---
type: Dataplane
mesh: default
name: client
networking: {address: 127.0.0.1, outbound: [{port: %d, hosts: {port: 80}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {app: web, kuma.io/service: web, kuma.io/protocol: http}}]}
---
type: MeshService
mesh: default
name: web
spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: %[2]d, appProtocol: http}]}
---
type: ToyRoute
mesh: default
name: a
spec:
  hosts: [one.example, two.example]
  limit: {requests: 2, in: 1h}
  rules:
  - {name: first, path: /first, to: [{service: web, port: 80}]}
  - {name: second, path: /second, to: [{service: web, port: 80}]}
  - {name: own, path: /own, to: [{service: web, port: 80}]}
  - {name: said, path: /said, answer: {status: 200}}
  includes: [{name: shared, prefix: /in}]
---
type: ToyRoute
mesh: default
name: b
spec: {hosts: [one.example], limit: {requests: 5, in: 1h}, rules: [{path: /late, to: [{service: web, port: 80}]}, {path: /later, to: [{service: web, port: 80}]}]}
---
type: ToyRoute
mesh: default
name: free
spec: {hosts: [free.example], rules: [{path: /first, to: [{service: web, port: 80}]}]}
---
type: ToyRoute
mesh: default
name: shared
spec: {rules: [{name: in, path: /, to: [{service: web, port: 80}]}]}
---
type: MeshRateLimit
mesh: default
name: mesh
spec: {to: [{targetRef: {kind: Mesh}, default: {local: {http: {requestRate: {num: 4, interval: 1h}}}}}]}
---
type: MeshRateLimit
mesh: default
name: rule
spec: {to: [{targetRef: {kind: ToyRoute, name: a, sectionName: own}, default: {local: {http: {requestRate: {num: 1, interval: 1h}}}}}]}
---
type: MeshRateLimit
mesh: default
name: including
spec: {to: [{targetRef: {kind: ToyRoute, name: a, sectionName: own}, default: {local: {http: {onRateLimit: {status: 503}}}}}]}
---
type: MeshTimeout
mesh: default
name: all
spec: {to: [{targetRef: {kind: ToyRoute, name: a}, default: {http: {requestTimeout: 7s}}}]}
`

func limited(t *testing.T, listen, web uint32, more ...string) *resolve.Model {
	t.Helper()
	text := strings.Join(append([]string{fmt.Sprintf(limits, listen, web)}, more...), "\n---\n")
	objects, err := decode.Objects(catalog, "limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), dialects(), world.Kinds())
	return m
}

// who is everybody that says something of the rate of requests, weakest first.
func who(t *testing.T, m *resolve.Model, url string) string {
	t.Helper()
	v, err := sim.Run(m, client, wire.Request{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	p := v.Branches[0].Policies["MeshRateLimit"]
	var out []string
	for _, s := range p.Why["local.http.requestRate"] {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Layer, s.Origin.Name, s.Lost)))
	}
	if p.Buckets > 0 {
		out = append(out, fmt.Sprintf("%d buckets", p.Buckets))
	}
	return strings.Join(out, ", ")
}

// TestLayerOfAHost: it holds over what targets no route, and under what is attached
// to an object that includes the rule, to its route, and to itself.
func TestLayerOfAHost(t *testing.T) {
	t.Parallel()
	const attached = `{type: MeshRateLimit, mesh: default, name: attached, spec: {to: [{targetRef: {kind: ToyRoute, name: a},
		default: {local: {http: {requestRate: {num: 9, interval: 1h}}}}}]}}`
	const override = `{type: MeshRateLimit, mesh: default, name: platform, spec: {to: [{targetRef: {kind: Mesh},
		override: {local: {http: {requestRate: {num: 8, interval: 1h}}}}}]}}`
	for _, c := range []struct {
		more, url, want string
	}{
		{"", "http://one.example/first", "mesh mesh layer, host b layer, host a"},
		{"", "http://one.example/late", "mesh mesh layer, host b layer, host a"},
		{"", "http://one.example/in", "mesh mesh layer, host b layer, host a"},
		{"", "http://one.example/own", "mesh mesh layer, host b layer, host a layer, rule rule"},
		{"", "http://two.example/first", "mesh mesh layer, host a"},
		{"", "http://free.example/first", "mesh mesh"},
		{"", "http://one.example/none", ""},
		{attached, "http://two.example/first", "mesh mesh layer, host a layer, route attached"},
		{attached, "http://two.example/in", "mesh mesh layer, host a layer, include attached"},
		{override, "http://two.example/first", "mesh mesh override, host a override, mesh platform, 2 buckets"}, // /own answers otherwise
	} {
		if got := who(t, limited(t, 10080, 8081, c.more), c.url); got != c.want {
			t.Errorf("%s: %s, want %s", c.url, got, c.want)
		}
	}
}

// TestRulesOfAHostShareItsLayer: those of which nothing more is said have one value.
func TestRulesOfAHostShareItsLayer(t *testing.T) {
	t.Parallel()
	r, _ := limited(t, 10080, 8081).Dataplane(client)
	limits := map[*policies.Effective][]string{}
	for _, o := range r.Outbounds {
		for _, rt := range o.Table.Routes {
			if e := rt.Policies.Of("MeshRateLimit"); strings.HasPrefix(rt.Name, "toy /late") {
				limits[e] = append(limits[e], o.Destination.Name+rt.Name)
			}
		}
	}
	if len(limits) != 1 || limits[nil] != nil {
		t.Errorf("the rules have %d values: %v", len(limits), limits)
	}
}

// TestLimitOfAHostInEnvoy: one bucket for the rules of a host, and one for each host;
// a rule with a limit of its own has its own bucket, and what nobody wrote has none.
func TestLimitOfAHostInEnvoy(t *testing.T) {
	t.Parallel()
	web, listen := envoytest.StartBackend(t, "web"), envoytest.Port(t)
	m := limited(t, listen, web.Port)
	r, _ := m.Dataplane(client)
	s := xds.NewRenderer(world.Kinds()).Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	envoytest.Drive(t, s)
	ask := func(host, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", listen, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = host
		reply, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		return reply.StatusCode
	}
	var got []string
	for _, q := range []string{
		"one.example/first", "one.example/in", "one.example/second", "one.example/late", "one.example/said", // the bucket of one.example holds two
		"one.example/own", "one.example/own", // one, and 503
		"two.example/said", "two.example/first", "two.example/second",
		"one.example/none", "free.example/first", "free.example/first", "free.example/first",
	} {
		host, path, _ := strings.Cut(q, "/")
		got = append(got, fmt.Sprintf("%s %d", q, ask(host, "/"+path)))
	}
	want := []string{
		"one.example/first 200", "one.example/in 200", "one.example/second 429", "one.example/late 429", "one.example/said 429",
		"one.example/own 200", "one.example/own 503",
		"two.example/said 200", "two.example/first 200", "two.example/second 429",
		"one.example/none 404", "free.example/first 200", "free.example/first 200", "free.example/first 200",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
