package accesslog_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// scene is a client that calls web by requests and db by connections, and collectors a, b, c and d.
type scene struct {
	t          *testing.T
	web, db    uint32 // where the client's listeners are
	backend    *envoytest.Backend
	collectors map[string]*envoytest.Collector
}

func newScene(t *testing.T) *scene {
	s := &scene{t: t, web: envoytest.Port(t), db: envoytest.Port(t), backend: envoytest.StartBackend(t, "web"), collectors: map[string]*envoytest.Collector{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		s.collectors[name] = envoytest.StartCollector(t)
	}
	return s
}

// to is a list of backends, in YAML: collectors by name, or stdout.
func (s *scene) to(names ...string) string {
	var list []string
	for _, name := range names {
		if name == "stdout" {
			list = append(list, "{type: File, file: {path: /dev/stdout, format: {type: Plain, plain: 'line %KUMA_SOURCE_SERVICE% %REQ(:PATH)%'}}}")
			continue
		}
		list = append(list, fmt.Sprintf("{type: OpenTelemetry, openTelemetry: {endpoint: '%s', body: '%%KUMA_MESH%% %%KUMA_SOURCE_SERVICE%%>%%KUMA_DESTINATION_SERVICE%% %%KUMA_TRAFFIC_DIRECTION%% %%REQ(:PATH)%%', attributes: [{key: code, value: '%%RESPONSE_CODE%%'}]}}", s.collectors[name].Address))
	}
	return "{backends: [" + strings.Join(list, ", ") + "]}"
}

// route logs the requests with a path to backends.
func (s *scene) route(name string, backends ...string) string {
	return fmt.Sprintf(`
---
type: MeshHTTPRoute
mesh: default
name: %[1]s
spec:
  targetRef: {kind: Mesh}
  to:
    - targetRef: {kind: MeshService, name: web}
      rules: [{matches: [{path: {type: PathPrefix, value: /%[1]s}}], default: {}}]
---
type: MeshAccessLog
mesh: default
name: of-%[1]s
spec:
  targetRef: {kind: MeshHTTPRoute, name: %[1]s}
  to: [{targetRef: {kind: Mesh}, default: %[2]s}]
`, name, s.to(backends...))
}

// policy logs what goes to a target.
func (s *scene) policy(name, target string, backends ...string) string {
	return fmt.Sprintf("\n---\n{type: MeshAccessLog, mesh: default, name: %s, spec: {to: [{targetRef: %s, default: %s}]}}\n", name, target, s.to(backends...))
}

func (s *scene) resolve(policies string) *effective.Resolved {
	s.t.Helper()
	text := fmt.Sprintf(`
{type: Mesh, name: default, meshServices: {mode: Exclusive}}
---
{type: Dataplane, mesh: default, name: client-1, networking: {address: 127.0.0.1, inbound: [{port: 1, name: own, tags: {kuma.io/service: client, kuma.io/protocol: tcp}}], outbound: [{port: %d, backendRef: {kind: MeshService, name: web, port: 80}}, {port: %d, backendRef: {kind: MeshService, name: db, port: 90}}]}}
---
{type: Dataplane, mesh: default, name: web-1, labels: {app: web}, networking: {address: 127.0.0.1, inbound: [{port: %d, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneLabels: {matchLabels: {app: web}}}, ports: [{port: 80, targetPort: main, appProtocol: http}]}}
---
{type: MeshService, mesh: default, name: db, spec: {selector: {dataplaneLabels: {matchLabels: {app: web}}}, ports: [{port: 90, targetPort: main, appProtocol: tcp}]}}
`, s.web, s.db, s.backend.Port)
	objects, violations := world.Decode("docs.yaml", []byte(text+policies))
	for _, v := range violations {
		s.t.Fatal(v)
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	r, ok := model.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client-1"})
	if !ok {
		s.t.Fatal("there is no client")
	}
	return r
}

func (s *scene) render(policies string) *resource.State {
	s.t.Helper()
	state := xds.NewRenderer(world.Kinds()).Render(s.resolve(policies))
	for _, n := range state.Notes {
		s.t.Errorf("%s: %s", n.Code, n.Message)
	}
	return state
}

// get sends a request by a client, and wants it to be answered by the backend.
func (s *scene) get(c *http.Client, path string) {
	s.t.Helper()
	resp, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d%s", s.web, path))
	if err != nil {
		s.t.Error(err)
		return
	}
	_, _ = io.Copy(io.Discard, resp.Body) // nobody reads the text
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Close {
		s.t.Errorf("%s: status %d, and the connection ends: %v", path, resp.StatusCode, resp.Close)
	}
}

// logged are the collectors that have a record that ends with a text.
func (s *scene) logged(end string) (out []string) {
	for _, name := range []string{"a", "b", "c", "d"} {
		if slices.ContainsFunc(s.collectors[name].Bodies(), func(b string) bool { return strings.HasSuffix(b, end) }) {
			out = append(out, name)
		}
	}
	return out
}

// raw sends bytes to a port and reads until the other side is done.
func raw(t *testing.T, port uint32, text string) {
	t.Helper()
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, text)
	_, _ = io.Copy(io.Discard, conn) // the line is what the test is about
}

// TestListsOfRoutes is example X4 of spec/kinds.md 18: of all lists that are about a request the nearest
// to its route holds, and what no route takes is written where the destination says.
func TestListsOfRoutes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	state := s.render(s.policy("mal-1", "{kind: Mesh}", "a") + s.policy("mal-2", "{kind: MeshService, name: web}", "b", "stdout") + s.route("r1", "c") + s.route("r0"))
	e := envoytest.Drive(t, state)
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	for _, path := range []string{"/r1", "/r0", "/other"} {
		s.get(client, path)
	}
	raw(t, s.web, "GET /nowhere HTTP/1.1\r\n\r\n")                               // no host: refused before any route
	raw(t, s.db, "GET /bytes HTTP/1.1\r\nHost: db\r\nConnection: close\r\n\r\n") // one connection
	want := map[string][]string{"/r1": {"c"}, "/r0": nil, "/other": {"b"}, "/nowhere": {"b"}, "db OUTBOUND -": {"a"}}
	e.Until("the last line has come", func() bool { return len(s.logged("/nowhere"))+len(s.logged("/r1"))+len(s.logged("db OUTBOUND -")) >= 3 })
	for end, names := range want {
		if got := s.logged(end); !slices.Equal(got, names) {
			t.Errorf("%s is written to %v, not to %v", end, got, names)
		}
	}
	record, about := s.collectors["c"].Record("default test>web OUTBOUND /r1")
	if record == nil {
		t.Fatalf("c has %q", s.collectors["c"].Bodies())
	}
	if len(record.Attributes) != 1 || record.Attributes[0].Value.GetStringValue() != "200" || about["kuma.mesh"] != "default" || about["cluster_name"] != "test" {
		t.Errorf("the record has %v, of %v", record.Attributes, about)
	}
	e.Until("stdout has its lines", func() bool { return strings.Contains(e.Output(), "line test /nowhere\n") })
	if got := e.Output(); strings.Count(got, "line test ") != 2 || !strings.Contains(got, "line test /other\n") {
		t.Errorf("stdout has %q", got)
	}
}

// TestSwitchingRoutes: which routes log to a backend is changed while requests come by one connection,
// which stays; a new backend changes the listener (spec/kinds.md 7).
func TestSwitchingRoutes(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	all := s.policy("mal-1", "{kind: Mesh}", "b")
	before, after := s.render(all+s.route("r1", "c")+s.route("r2")), s.render(all+s.route("r1", "b")+s.route("r2", "c"))
	if !sameListeners(before, after) {
		t.Error("other routes have changed a listener")
	}
	if sameListeners(before, s.render(all+s.route("r1", "d")+s.route("r2"))) {
		t.Error("a listener has a backend that is not in it")
	}
	f := envoytest.Drive(t, before)
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	defer client.CloseIdleConnections()
	s.get(client, "/r1")
	f.Until("c has the line of r1", func() bool { return slices.Equal(s.logged("/r1"), []string{"c"}) })
	done, load := make(chan struct{}), sync.WaitGroup{}
	load.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				s.get(client, "/load")
			}
		}
	})
	f.Set(after)
	f.Until("r2 logs to c", func() bool {
		s.get(client, "/r2")
		return slices.Contains(s.logged("/r2"), "c")
	})
	s.get(client, "/r1?again")
	f.Until("r1 logs to b", func() bool { return slices.Equal(s.logged("/r1?again"), []string{"b"}) })
	close(done)
	load.Wait()
	for name, n := range f.Stats("listener.127.0.0.1_") {
		if strings.HasSuffix(name, fmt.Sprintf("127.0.0.1_%d.downstream_cx_total", s.web)) && n != 1 {
			t.Errorf("%s: %d", name, n)
		}
	}
	if n := f.Stats("listener_manager.listener_modified")["listener_manager.listener_modified"]; n != 0 {
		t.Errorf("%d listeners were changed", n)
	}
}

func sameListeners(a, b *resource.State) bool {
	return slices.EqualFunc(a.Listeners, b.Listeners, func(a, b *resource.Resource) bool { return a.Name == b.Name && a.Version == b.Version })
}
