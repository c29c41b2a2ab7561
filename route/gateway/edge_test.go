package gateway_test

import (
	"fmt"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds/naming"
)

// gateway is a Gateway with three listeners at one port and one at another, the edge
// dataplane that serves it, and one that serves another Gateway of the same name.
const gatewayDocuments = `
{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN, listeners: [{port: 9}]}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: shop}, spec: {gatewayClassName: weft, listeners: [
  {name: any, port: %[1]d, protocol: HTTP}, {name: below, port: %[1]d, protocol: HTTP, hostname: "*.example.org"}, {name: one, port: %[1]d, protocol: HTTP, hostname: one.example.org}, {name: other, port: %[2]d, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: wide, namespace: shop}, spec: {parentRefs: [{name: public, port: %[1]d}], rules: [
  {name: wide, matches: [{path: {value: /wide}}], backendRefs: [{name: v1, port: 80}]}, {name: exact, matches: [{path: {type: Exact, value: /near/exact}}], backendRefs: [{name: v1, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: near, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: below}], hostnames: [a.example.org], rules: [
  {name: near, matches: [{path: {value: /near}}], backendRefs: [{name: v2, port: 80}]}, {name: moved, matches: [{path: {value: /moved}}], filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /wide}}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: one, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: one}], rules: [{name: one, matches: [{path: {value: /one}}], backendRefs: [{name: v2, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: below, namespace: shop, creationTimestamp: "2024-01-02T00:00:00Z"}, spec: {parentRefs: [{name: public, sectionName: one}], hostnames: ["*.example.org"], rules: [
  {name: below, matches: [{path: {value: /named}}], backendRefs: [{name: v1, port: 80}]}, {name: more, matches: [{path: {value: /named/more}}], backendRefs: [{name: v1, port: 80}]}, {name: alone, matches: [{path: {value: /alone}}], backendRefs: [{name: v1, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: named, namespace: shop, creationTimestamp: "2024-01-03T00:00:00Z"}, spec: {parentRefs: [{name: public, sectionName: one}], hostnames: [one.example.org], rules: [
  {name: named, matches: [{path: {value: /named}}], backendRefs: [{name: v2, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: calls, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: other}], rules: [{name: calls, matches: [{method: {service: a.B}}], backendRefs: [{name: v1, port: 80}]}]}}
`

// atListeners are requests to the Gateway: the number of the port, the host and the path,
// and who answers them, or with which status.
var atListeners = []struct {
	port       int
	host, path string
	want       string
}{
	{0, "x.test", "/wide", "v1"}, {0, "x.test", "/near", "404"}, {0, "x.test:8080", "/wide/x", "v1"}, {0, "X.Test.", "/wide", "v1"},
	{0, "b.example.org", "/wide", "v1"}, {0, "b.example.org", "/near/exact", "v1"}, {0, "b.example.org", "/near", "404"},
	{0, "a.example.org", "/near", "v2"}, {0, "a.example.org", "/near/exact", "v2"}, {0, "a.example.org", "/wide", "v1"}, {0, "a.example.org", "/moved", "302"}, {0, "a.example.org", "/", "404"},
	{0, "one.example.org", "/one", "v2"}, {0, "one.example.org", "/wide", "v1"}, {0, "one.example.org", "/near/exact", "v1"}, {0, "x.one.example.org", "/one", "404"}, {0, "example.org", "/wide", "v1"},
	{0, "one.example.org", "/named", "v2"}, {0, "one.example.org", "/named/more", "v2"}, {0, "one.example.org", "/alone", "v1"}, // whose hostname is the nearer, though the listener's is as near
	{1, "x.test", "/wide", "404"}, {1, "one.example.org", "/one", "404"},
}

// TestEnvoyServesGateways: a real Envoy serves the listeners of a Gateway as the table
// says, and as the simulator does.
func TestEnvoyServesGateways(t *testing.T) {
	t.Parallel()
	ports := [2]uint32{envoytest.Port(t), envoytest.Port(t)}
	text := fmt.Sprintf(gatewayDocuments, ports[0], ports[1])
	for _, name := range []string{"v1", "v2"} {
		text += service(name, "http", envoytest.StartBackend(t, name).Port)
	}
	objects, found := world.Decode("gateway.yaml", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	caller(t, m, "edge")
	for _, q := range atListeners {
		if got := send(t, ports[q.port], envoytest.Wire{Version: "1.1", Method: "GET", Target: q.path, Authority: q.host}); got != q.want {
			t.Errorf("%d %s%s: Envoy %s, want %s", q.port, q.host, q.path, got, q.want)
		}
		if got := simulated(t, m, fmt.Sprintf("http://10.9.8.7:%d%s", ports[q.port], q.path), q.host); got != q.want {
			t.Errorf("%d %s%s: the simulator %s, want %s", q.port, q.host, q.path, got, q.want)
		}
	}
	call := envoytest.Wire{Version: "2", Method: "POST", Target: "/a.B/Do", Authority: "calls.test", Lines: []envoytest.Line{{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"}}}
	if got := send(t, ports[1], call); got != "v1" {
		t.Errorf("a call: %s, want v1", got)
	}
	if call.Target = "/none/Do"; send(t, ports[1], call) != "gRPC 12" {
		t.Error("a call of nobody is not answered with UNIMPLEMENTED")
	}
}

// simulated is who answers a request to the edge, or with which status.
func simulated(t *testing.T, m *resolve.Model, url, host string) string {
	t.Helper()
	v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"}, wire.Request{URL: url, Headers: wire.Headers{"host": host}})
	if err != nil {
		t.Fatal(err)
	}
	b := v.Branches[0]
	if b.Outcome != sim.Forward {
		return fmt.Sprint(b.Status)
	}
	return b.Backends[0].Name
}

// TestOnlyBoundEdgesServe: what a Gateway has is at its own edge dataplanes alone, which
// listen nowhere else, and at those of no other namespace.
func TestOnlyBoundEdgesServe(t *testing.T) {
	t.Parallel()
	stranger := "\n---\n{type: Dataplane, mesh: default, name: stranger, labels: {k8s.kuma.io/namespace: other, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 127.0.0.2, gateway: {type: BUILTIN, listeners: [{port: 80}]}}}\n"
	objects, found := world.Decode("gateway.yaml", []byte(fmt.Sprintf(gatewayDocuments, 80, 81)+stranger))
	if len(found) > 0 {
		t.Fatal(found)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	for name, want := range map[string]string{"edge": "[edge:80 edge:81] 5 hosts", "stranger": "[edge:80] 0 hosts"} {
		r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
		var ports []string
		for _, e := range r.Edges {
			ports = append(ports, naming.Edge(e.Port))
		}
		if got := fmt.Sprint(ports, " ", len(r.Outbounds), " hosts"); got != want {
			t.Errorf("%s listens at %s, want %s", name, got, want)
		}
	}
}
