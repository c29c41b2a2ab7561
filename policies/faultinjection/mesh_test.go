package faultinjection_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// languages are one set of routes in each route language.
const languages = "../../examples/one-policy-four-languages"

// ports are those of the example at which web-1 listens.
var ports = []string{"13101", "13102", "13111", "13112", "13113"}

// onRoutes attaches faults to a rule of each route, and others to all.
const onRoutes = `
type: MeshFaultInjection
mesh: languages
name: all
spec: {to: [{targetRef: {kind: Mesh}, default: {http: [{abort: {httpStatus: 410, percentage: 100}}]}}]}
---
type: MeshFaultInjection
mesh: languages
name: flaky
spec:
  to:
    - {targetRef: {kind: MeshHTTPRoute, name: shop, namespace: shop, sectionName: flaky}, default: &teapot {http: [{abort: {httpStatus: 418, percentage: 100}}]}}
    - {targetRef: {kind: HTTPRoute, name: shop, namespace: shop, sectionName: flaky}, default: *teapot}
    - {targetRef: {kind: HTTPProxy, name: shop, namespace: shop, sectionName: "0"}, default: *teapot}
    - {targetRef: {kind: RouteGroup, name: shop, namespace: shop, sectionName: "0"}, default: *teapot}
---
type: MeshFaultInjection
mesh: languages
name: limited
spec:
  to:
    - {targetRef: {kind: MeshHTTPRoute, name: shop, namespace: shop, sectionName: limited}, default: &none {http: []}}
    - {targetRef: {kind: HTTPRoute, name: shop, namespace: shop, sectionName: limited}, default: *none}
    - {targetRef: {kind: HTTPProxy, name: shop, namespace: shop, sectionName: "2"}, default: *none}
    - {targetRef: {kind: RouteGroup, name: shop, namespace: shop, sectionName: "2"}, default: *none}
---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: claims, namespace: shop, labels: {kuma.io/mesh: languages}}
spec:
  hosts: [claims.test]
  backends: [{name: orders, type: service, serviceName: orders, servicePort: 80}]
  defaultBackends: [{backendName: orders}]
  routes:
    - {path: /, predicates: ['JWTPayloadAnyKV("role", "tester")']}
    - {path: /}
---
type: MeshFaultInjection
mesh: languages
name: testers
spec: {to: [{targetRef: {kind: RouteGroup, name: claims, namespace: shop, sectionName: "0"}, default: {http: [{abort: {httpStatus: 418, percentage: 100}}]}}]}
---
type: MeshFaultInjection
mesh: languages
name: not-testers
spec: {to: [{targetRef: {kind: RouteGroup, name: claims, namespace: shop, sectionName: "1"}, default: {http: []}}]}
`

// example is the text of the example with those policies, at ports of its own.
func example(t *testing.T, at map[string]uint32, policies string) string {
	t.Helper()
	files, err := filepath.Glob(languages + "/*.yaml")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	var texts []string
	for _, name := range files {
		if filepath.Base(name) == "policies.yaml" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	text := strings.Join(append(texts, policies), "\n---\n")
	for port, own := range at {
		text = strings.ReplaceAll(text, port, fmt.Sprint(own))
	}
	return text
}

// rendered is what a dataplane of the documents holds.
func rendered(t *testing.T, text, mesh, name string) *resource.State {
	t.Helper()
	objects, violations := world.Decode("docs.yaml", []byte(text))
	for _, v := range violations {
		t.Fatal(v)
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	r, ok := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: mesh, Name: name})
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return xds.NewRenderer(world.Kinds()).Render(r)
}

// TestFaultsOfRoutesInEachLanguage: a list that is attached to a rule of a route stands in the place of that of the mesh,
// whatever the language of the route; and where the claims of a token choose the route.
func TestFaultsOfRoutesInEachLanguage(t *testing.T) {
	t.Parallel()
	at := map[string]uint32{}
	for _, p := range ports {
		at[p] = envoytest.Port(t)
	}
	e := envoytest.Drive(t, rendered(t, example(t, at, onRoutes), "languages", "web-1"))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, c := range []struct{ host, port, token string }{{"shop", "13111", ""}, {"shop", "13112", ""}, {"shop-contour.test", "13113", ""}, {"shop-skipper.test", "13113", ""}} {
		for path, want := range map[string]int{"/flaky": 418, "/slow": 410, "/limited": 503, "/": 410} {
			if got := get(t, client, at[c.port], c.host, path, ""); got != want {
				t.Errorf("%s at %s: %s is answered %d, want %d", c.host, c.port, path, got, want)
			}
		}
	}
	const tester, nobody = "eyJhIjoxfQ.eyJyb2xlIjoidGVzdGVyIn0.x", "eyJhIjoxfQ.eyJyb2xlIjoibm9ib2R5In0.x" // {"role":"tester"} and nobody
	for token, want := range map[string]int{tester: 418, nobody: 503, "": 503} {
		if got := get(t, client, at["13113"], "claims.test", "/", token); got != want {
			t.Errorf("token %q: %d, want %d\n%s", token, got, want, e.Log())
		}
	}
}

func get(t *testing.T, client *http.Client, port uint32, host, path, token string) int {
	t.Helper()
	q, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	if token != "" {
		q.Header.Set("authorization", "Bearer "+token)
	}
	resp, err := client.Do(q)
	if err != nil {
		t.Error(err)
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // nobody reads the text
	return resp.StatusCode
}

// TestFaultsComeByRoutesAlone: up to four faults change no listener, at the side that calls and at the side that is called;
// more of them do; and without the policy everything is as it was.
func TestFaultsComeByRoutesAlone(t *testing.T) {
	t.Parallel()
	const text = `
{type: Mesh, name: default, meshServices: {mode: Exclusive}}
---
{type: Dataplane, mesh: default, name: both, labels: {app: web}, networking: {address: 127.0.0.1, inbound: [{port: 81, servicePort: 82, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}], outbound: [{port: 83, backendRef: {kind: MeshService, name: web, port: 80}}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneLabels: {matchLabels: {app: web}}}, ports: [{port: 80, targetPort: main, appProtocol: http}]}}
`
	state := func(n int) *resource.State {
		list := "[" + strings.Repeat("{delay: {value: 1s, percentage: 1}}, ", n) + "]"
		return rendered(t, text+fmt.Sprintf("\n---\n{type: MeshFaultInjection, mesh: default, name: p, spec: {to: [{targetRef: {kind: Mesh}, default: {http: %[1]s}}], rules: [{default: {http: %[1]s}}]}}\n", list), "default", "both")
	}
	same := func(a, b []*resource.Resource) bool {
		return slices.EqualFunc(a, b, func(a, b *resource.Resource) bool { return a.Name == b.Name && a.Version == b.Version })
	}
	without := rendered(t, text, "default", "both")
	if len(without.Listeners) != 2 {
		t.Fatalf("%d listeners", len(without.Listeners))
	}
	for n, changes := range map[int]bool{1: false, 4: false, 5: true} {
		now := state(n)
		if same(now.Routes, without.Routes) {
			t.Errorf("%d faults: the routes say nothing of them", n)
		}
		for i, l := range now.Listeners {
			if (l.Version != without.Listeners[i].Version) != changes {
				t.Errorf("%d faults: listener %s changes: %v", n, l.Name, !changes)
			}
		}
	}
	if none := state(0); !same(none.Listeners, without.Listeners) {
		t.Error("an empty list changes a listener")
	}
}
