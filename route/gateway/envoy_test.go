package gateway_test

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
)

// shop is a mesh in Kubernetes: who calls, Services with their slices, and routes.
const shop = `
{type: Dataplane, mesh: default, name: client, labels: {k8s.kuma.io/namespace: shop}, networking: {address: 127.0.0.1, outbound: [
  {port: %[1]d, backendRef: {kind: MeshService, name: web, port: 80}}, {port: %[2]d, backendRef: {kind: MeshService, name: calls, port: 80}}]}}
---
{type: Dataplane, mesh: default, name: consumer, labels: {k8s.kuma.io/namespace: other}, networking: {address: 127.0.0.1, outbound: [
  {port: %[1]d, backendRef: {kind: MeshService, name: web, namespace: shop, port: 80}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [
  {matches: [{path: {value: /split}}], backendRefs: [{name: v1, port: 80, weight: 5}, {name: v2, port: 80, weight: 3}, {name: nope, port: 80, weight: 1}, {name: empty, port: 80, weight: 1}]},
  {matches: [{path: {value: /silent}}], backendRefs: [{name: silent, port: 80}]}, {matches: [{path: {value: /nothing}}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: other}, spec: {parentRefs: [{group: "", kind: Service, name: web, namespace: shop}], rules: [
  {matches: [{path: {value: /own}}], backendRefs: [{name: v2, namespace: shop, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: calls, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: calls}], rules: [
  {matches: [{method: {service: a.B}}], backendRefs: [{name: silent, port: 80}]}, {matches: [{method: {service: lost}}], backendRefs: [{name: nope, port: 80}]}]}}
`

// service is a Service of shop, with a slice if it has an address.
func service(name, protocol string, port uint32) string {
	text := fmt.Sprintf("---\n{apiVersion: v1, kind: Service, metadata: {name: %s, namespace: shop}, spec: {ports: [{port: 80, appProtocol: %q}]}}\n", name, protocol)
	if port != 0 {
		text += fmt.Sprintf("---\n{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}, addressType: IPv4, ports: [{port: %[2]d}], endpoints: [{addresses: [127.0.0.1]}]}\n", name, port)
	}
	return text
}

// caller drives an Envoy as the sidecar of a dataplane.
func caller(t *testing.T, m *resolve.Model, name string) {
	t.Helper()
	r, ok := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: name})
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	s := xds.NewRenderer(world.Kinds()).Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	envoytest.Drive(t, s)
}

// send is who answers a request, or with which status.
func send(t *testing.T, port uint32, q envoytest.Wire) string {
	t.Helper()
	reply, err := envoytest.Send(fmt.Sprintf("127.0.0.1:%d", port), q)
	if err != nil {
		t.Fatal(err)
	}
	if by := reply.Headers.Get(envoytest.NameHeader); by != "" {
		return by
	}
	if status := reply.Headers.Get("grpc-status"); status != "" {
		return "gRPC " + status
	}
	return fmt.Sprint(reply.Status)
}

// model compiles the shop before backends that listen.
func model(t *testing.T, at, calls uint32) *resolve.Model {
	t.Helper()
	text := fmt.Sprintf(shop, at, calls) + service("web", "http", 0) + service("calls", "grpc", 0) + service("empty", "http", 0)
	for _, name := range []string{"v1", "v2"} {
		text += service(name, "http", envoytest.StartBackend(t, name).Port)
	}
	text += service("silent", "", envoytest.StartBackend(t, "silent").Port)
	objects, found := world.Decode("shop.yaml", []byte(text))
	if len(found) > 0 {
		t.Fatal(found)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	return m
}

// TestEnvoyRoutesServices: a real Envoy gives the Services of Kubernetes what the
// routes say, to producers, consumers and gRPC clients.
func TestEnvoyRoutesServices(t *testing.T) {
	t.Parallel()
	web, calls, other, nowhere := envoytest.Port(t), envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)
	caller(t, model(t, web, calls), "client")
	caller(t, model(t, other, nowhere), "consumer")
	get := func(path string) envoytest.Wire {
		return envoytest.Wire{Version: "1.1", Method: "GET", Target: path, Authority: "any.example"}
	}
	call := func(path string) envoytest.Wire {
		return envoytest.Wire{Version: "2", Method: "POST", Target: path, Authority: "calls", Lines: []envoytest.Line{{Name: "content-type", Value: "application/grpc"}, {Name: "te", Value: "trailers"}}}
	}
	for _, c := range []struct {
		port uint32
		q    envoytest.Wire
		want string
	}{
		{web, get("/silent"), "silent"}, {web, get("/nothing"), "500"}, {web, get("/other"), "404"}, {web, get("/own"), "404"},
		{other, get("/own"), "v2"}, {other, get("/silent"), "404"},
		{calls, call("/a.B/Do"), "silent"}, {calls, call("/lost/Do"), "gRPC 14"}, {calls, call("/none/Do"), "gRPC 12"}, {calls, get("/a.B/Do"), "404"},
	} {
		if got := send(t, c.port, c.q); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.q.Method, c.q.Target, got, c.want)
		}
	}
	shares(t, web)
}

// shares holds the weights of /split: of 10,000 requests each part is within 1.5
// points. What chance alone makes of them is outside once in some hundred runs, so
// that a second 10,000 decide.
func shares(t *testing.T, port uint32) {
	t.Helper()
	const requests = 10_000
	want := map[string]float64{"v1": .5, "v2": .3, "500": .1, "503": .1}
	var wrong string
	for range 2 {
		got := map[string]float64{}
		for range requests {
			reply, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/split", port))
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, reply.Body) // so that the connection is used again
			reply.Body.Close()
			got[cmp.Or(reply.Header.Get(envoytest.NameHeader), fmt.Sprint(reply.StatusCode))] += 1.0 / requests
		}
		wrong = ""
		for who, part := range want {
			if math.Abs(got[who]-part) > .015 {
				wrong = fmt.Sprintf("%s has %.3f of the requests, want %.3f", who, got[who], part)
			}
		}
		if wrong == "" && len(got) == len(want) {
			return
		}
	}
	t.Error(wrong)
}
