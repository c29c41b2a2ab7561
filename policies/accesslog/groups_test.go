package accesslog_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds"
)

// groups are RouteGroups by whose filters requests are logged or not, and a policy by which all are.
const groups = `
{type: Mesh, name: default, meshServices: {mode: Exclusive}}
---
{type: Dataplane, mesh: default, name: client-1, networking: {address: 127.0.0.1, outbound: [{port: %d, hosts: {port: 80}}]}}
---
{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {app: web, kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshService, mesh: default, name: web, labels: {k8s.kuma.io/namespace: default}, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: %[2]d, appProtocol: http}]}}
---
{type: MeshAccessLog, mesh: default, name: all, spec: {to: [{targetRef: {kind: Mesh}, default: %[3]s}]}}
---
{type: MeshAccessLog, mesh: default, name: mine, spec: {targetRef: {kind: RouteGroup, name: g, namespace: default, sectionName: '3'}, to: [{targetRef: {kind: Mesh}, default: %[4]s}]}}
---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: g, namespace: default}
spec:
  hosts: [g.example]
  backends:
  - {name: web, serviceName: web, servicePort: 80}
  - {name: no, type: shunt}
  - {name: again, type: loopback}
  defaultBackends: [{backendName: web}]
  routes:
  - {path: /as-ever}
  - {path: /off, filters: ['disableAccessLog()']}
  - {path: /on, filters: ['disableAccessLog()', 'enableAccessLog()']}
  - {path: /policy, filters: ['disableAccessLog()']}
  - {path: /answered, backends: [{backendName: no}], filters: ['disableAccessLog()', 'status(200)']}
  - {path: /through, backends: [{backendName: again}], filters: ['setPath("/off")', 'enableAccessLog()']}
  - {path: /through-on, backends: [{backendName: again}], filters: ['setPath("/on")', 'disableAccessLog()']}
`

// TestFiltersOfRouteGroups: disableAccessLog of a RouteGroup keeps lines of a route from being written, the last
// filter of a request holds, and a policy that is attached to the route over it.
func TestFiltersOfRouteGroups(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	objects, violations := world.Decode("docs.yaml", fmt.Appendf(nil, groups, s.web, s.backend.Port, s.to("a"), s.to("b")))
	if len(violations) > 0 {
		t.Fatal(violations)
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	r, ok := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client-1"})
	if !ok {
		t.Fatal("there is no client")
	}
	e := envoytest.Drive(t, xds.NewRenderer(world.Kinds()).Render(r))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(path string) {
		t.Helper()
		q, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", s.web, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Host = "g.example"
		resp, err := client.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	want := map[string][]string{"/off": nil, "/answered": nil, "/through": nil, "/policy": {"b"}, "/on": {"a"}, "/through-on": {"a"}, "/as-ever": {"a"}}
	for _, path := range []string{"/off", "/answered", "/through", "/policy", "/on", "/through-on", "/as-ever"} {
		ask(path + "?x" + path)
	}
	e.Until("the last line has come", func() bool {
		return len(s.logged("?x/as-ever")) > 0 && len(s.logged("?x/policy")) > 0 && len(s.logged("?x/through-on")) > 0
	})
	for path, names := range want {
		if got := s.logged("?x" + path); !slices.Equal(got, names) {
			t.Errorf("%s is written to %v, not to %v", path, got, names)
		}
	}
}
