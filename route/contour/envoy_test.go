package contour_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds"
)

// spokenTo is a host whose routes say how one service without a sidecar, of which nobody
// wrote down what it speaks, is spoken to.
const spokenTo = `{type: Mesh, name: default, meshServices: {mode: Exclusive}}
---
{type: Dataplane, mesh: default, name: client, networking: {address: 127.0.0.1, outbound: [{port: %[1]d, hosts: {port: 80}}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: default}, spec: {ports: [{port: 80}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: two, namespace: default, annotations: {projectcontour.io/upstream-protocol.h2c: web}}, spec: {ports: [{name: web, port: 80}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: two-1, namespace: default, labels: {kubernetes.io/service-name: two}}, addressType: IPv4, ports: [{name: web, port: %[2]s}], endpoints: [{addresses: [127.0.0.1]}]}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: s-1, namespace: default, labels: {kubernetes.io/service-name: s}}, addressType: IPv4, ports: [{port: %[2]s}], endpoints: [{addresses: [127.0.0.1]}]}
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: x, namespace: default}
spec:
  virtualhost: {fqdn: x.example}
  routes:
  - {conditions: [{prefix: /one}], services: [{name: s, port: 80}]}
  - {conditions: [{prefix: /two}], services: [{name: s, port: 80, protocol: h2c}]}
  - {conditions: [{prefix: /three}], services: [{name: two, port: 80}]}
  - {conditions: [{prefix: /short}], services: [{name: s, port: 80}], timeoutPolicy: {idleConnection: 100ms}}
  - {conditions: [{prefix: /both}], services: [{name: s, port: 80, protocol: h2c}], timeoutPolicy: {idleConnection: 100ms}}
`

// TestEnvoySpeaksAsRoutesSay: HTTP/2 goes where a route says so, and nowhere else, in
// whatever version a client asks; the connections of a route end when they are idle for
// as long as it says.
func TestEnvoySpeaksAsRoutesSay(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", r.RemoteAddr)
	}))
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetHTTP1(true)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	listen := envoytest.Port(t)
	objects, err := decode.Objects(world.Catalog(), "x.yaml", fmt.Appendf(nil, spokenTo, listen, port))
	if err != nil {
		t.Fatal(err)
	}
	model, _ := world.Compile(world.Snapshot(objects...))
	r, _ := model.Dataplane(client)
	state := xds.NewRenderer(world.Kinds()).Render(r)
	if len(state.Notes) > 0 {
		t.Fatalf("notes: %v", state.Notes)
	}
	envoytest.Drive(t, state)
	ask := func(by http.RoundTripper, path string) (proto, from string) {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", listen, path), nil)
		req.Host = "x.example"
		resp, err := by.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		proto, from, _ = strings.Cut(string(text), " ")
		return proto, from
	}
	asked := func(by http.RoundTripper) (out map[string]string) {
		out = map[string]string{}
		for path, want := range map[string]string{"/one": "HTTP/1.1", "/two": "HTTP/2.0", "/three": "HTTP/2.0", "/short": "HTTP/1.1", "/both": "HTTP/2.0"} {
			proto, from := ask(by, path)
			if out[path] = from; proto != want {
				t.Errorf("%s is asked in %s", path, proto)
			}
		}
		return out
	}
	two := &http.Transport{Protocols: new(http.Protocols)}
	two.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(two.CloseIdleConnections)
	asked(two)
	before := asked(http.DefaultTransport)
	time.Sleep(2 * time.Second)
	for path, from := range asked(http.DefaultTransport) {
		if kept := from == before[path]; kept != (path == "/one" || path == "/two" || path == "/three") {
			t.Errorf("%s: on the same connection is %t", path, kept)
		}
	}
}
