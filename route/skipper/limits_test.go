package skipper_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
)

// limits are routes by claims, each with a limit of its own, however many routes of
// Envoy it becomes; a policy takes the place of one of them.
const limits = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: api}
spec:
  hosts: [api.example.org]
  backends: [{name: s, serviceName: s, servicePort: 80}]
  defaultBackends: [{backendName: s}]
  routes:
  - {path: /r, predicates: ['JWTPayloadAnyKV("iss", "x", "iss", "y")'], filters: ['ratelimit(2, "1h")']}
  - {path: /r, filters: ['ratelimit(1, "1h", 503)']}
  - {pathSubtree: /p, filters: ['ratelimit(50, "1h")']}
  - {path: /c, filters: ['clientRatelimit(2, "1h", "Authorization")']}
  - {path: /two, filters: ['clientRatelimit(1, "1h", "X-A, X-B")', 'ratelimit(3, "1h", 503)']}
  - {path: /m, methods: [push]}
---
type: MeshRateLimit
mesh: default
name: stricter
spec: {to: [{targetRef: {kind: RouteGroup, name: api, namespace: default, sectionName: "2"}, default: {local: {http: {requestRate: {num: 1, interval: 1h}}}}}]}
`

// askByMethods: a method that nobody else knows is one like others.
func askByMethods(t *testing.T, m *resolve.Model, listen uint32) {
	t.Helper()
	for _, method := range []string{"PUSH", "push", "GET", "P'SH", "PUT"} {
		req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d/m", listen), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "api.example.org"
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		v, err := sim.Run(m, client, wire.Request{Method: method, URL: "http://api.example.org/m"})
		if err != nil {
			t.Fatal(err)
		}
		want := 404
		if method == "PUSH" {
			want = 200
		}
		if b := &v.Branches[0]; resp.StatusCode != want || want == 404 && b.Status != 404 || want == 200 && b.Outcome != sim.Forward {
			t.Errorf("%s: Envoy answers %d, sim %s %d", method, resp.StatusCode, b.Outcome, b.Status)
		}
	}
}

// TestClaimsAndLimitsInEnvoy: a sidecar with what is rendered reads claims, and counts
// for each route of the group.
func TestClaimsAndLimitsInEnvoy(t *testing.T) {
	t.Parallel()
	backend, listen := envoytest.StartBackend(t, "s"), envoytest.Port(t)
	text := strings.Replace(shop()+limits, "address: 10.0.0.1, outbound: [{port: 80", fmt.Sprintf("address: 127.0.0.1, outbound: [{port: %d", listen), 1)
	text = strings.Replace(text, "address: 10.0.1.1, inbound: [{port: 80", fmt.Sprintf("address: 127.0.0.1, inbound: [{port: %d", backend.Port), 1)
	text = strings.Replace(text, "{app: s}}, ports: [{port: 80", fmt.Sprintf("{app: s}}, ports: [{port: 80, targetPort: %d", backend.Port), 1)
	m := meshOf(t, text)
	r, _ := m.Dataplane(client)
	s := xds.NewRenderer(world.Kinds()).Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	envoytest.Drive(t, s)
	token := func(iss string) string {
		return "Bearer e30." + base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"`+iss+`"}`)) + ".x"
	}
	askByMethods(t, m, listen)
	used := map[string]uint32{}
	for i, c := range []struct {
		path, authorization string
		rule, status        int
	}{
		{"/r", token("x"), 0, 200}, {"/r", token("y"), 0, 200}, {"/r", token("x"), 0, 429}, {"/r", token("y"), 0, 429},
		{"/r", token("z"), 1, 200}, {"/r", "", 1, 503}, {"/r", "Bearer x", 1, 503}, {"/p", "", 2, 200}, {"/p/q", "", 2, 429}, {"/none", "", -1, 404},
		{"/c", "a", 3, 200}, {"/c", "a", 3, 200}, {"/c", "a", 3, 429}, {"/c", "b", 3, 200}, {"/c", "", 3, 200}, {"/c", "", 3, 200}, {"/c", "", 3, 200}, {"/c", "b", 3, 200}, {"/c", "b", 3, 429},
		{"/two", "", 4, 200}, {"/two", "", 4, 200}, {"/two", "", 4, 200}, {"/two", "", 4, 503},
	} {
		q := wire.Request{URL: "http://api.example.org" + c.path, Headers: wire.Headers{}}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", listen, c.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "api.example.org"
		if c.authorization != "" {
			req.Header.Set("Authorization", c.authorization)
			q.Headers.Add("authorization", c.authorization)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("request %d: Envoy answers %d, want %d", i, resp.StatusCode, c.status)
		}
		v, err := sim.Run(m, client, q)
		if err != nil {
			t.Fatal(err)
		}
		if l := v.Branches[0].ClientLimit; l != nil && l.Client != nil {
			client := fmt.Sprint(c.path, l.Client)
			if used[client]++; (resp.StatusCode == int(l.Status)) != (used[client] > l.Requests) {
				t.Errorf("request %d: Envoy answers %d to request %d of client %s, who sim says has %d and then %d", i, resp.StatusCode, used[client], client, l.Requests, l.Status)
			}
		}
		rule := -1
		if o := v.Branches[0].Route.Origins; len(o) > 0 {
			rule = *o[0].Rule
		}
		if rule != c.rule {
			t.Errorf("request %d: sim takes rule %d, want %d", i, rule, c.rule)
		}
	}
	if len(used) != 2 {
		t.Errorf("sim told clients %v apart, want 2 of /c", used)
	}
}
