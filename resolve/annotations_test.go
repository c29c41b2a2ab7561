package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
)

// TestAnnotationsOfOthersAreTold: an annotation that asks another program for something which
// changes how requests go, and weft does not do, is told with what to write; others are not.
func TestAnnotationsOfOthersAreTold(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"Service":    `{apiVersion: v1, kind: Service, metadata: {name: x, namespace: shop, annotations: {%s}}, spec: {ports: [{name: http, port: 80}]}}`,
		"HTTPRoute":  `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: x, namespace: shop, annotations: {%s}}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
		"GRPCRoute":  `{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: x, namespace: shop, annotations: {%s}}, spec: {parentRefs: [{group: "", kind: Service, name: web}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
		"HTTPProxy":  `{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: x, namespace: shop, annotations: {%s}}, spec: {virtualhost: {fqdn: x.example}, routes: [{directResponsePolicy: {statusCode: 418}}]}}`,
		"RouteGroup": `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: x, namespace: shop, annotations: {%s}}, spec: {hosts: [x.example], backends: [{name: no, type: shunt}], defaultBackends: [{backendName: no}]}}`,
	}
	for _, c := range []struct{ kind, annotation, want string }{
		{"HTTPRoute", `timeout.linkerd.io/request: 5s`, "write a MeshTimeout with default.http.requestTimeout that targets the HTTPRoute"},
		{"HTTPRoute", `timeout.linkerd.io/idle: 5s`, "default.http.streamIdleTimeout"},
		{"HTTPRoute", `timeout.linkerd.io/unheard-of: 5s`, "write a MeshTimeout with default.http that targets the HTTPRoute"},
		{"HTTPRoute", `retry.linkerd.io/http: 5xx`, "write a MeshRetry with default.http.retryOn that targets the HTTPRoute"},
		{"HTTPRoute", `retry.linkerd.io/limit: "2"`, "default.http.numRetries"},
		{"HTTPRoute", `example.org/note: x`, ""},
		{"HTTPRoute", `kubectl.kubernetes.io/last-applied-configuration: x`, ""},
		{"GRPCRoute", `retry.linkerd.io/grpc: internal`, "write a MeshRetry with default.grpc.retryOn that targets the GRPCRoute"},
		{"Service", `timeout.linkerd.io/response: 5s`, "write a MeshTimeout with default.http.requestTimeout, which bounds the whole answer, that targets the Service"},
		{"Service", `balancer.linkerd.io/failure-accrual: consecutive`, "weft leaves no endpoint out"},
		{"Service", `config.linkerd.io/opaque-ports: "80"`, "write appProtocol: tcp"},
		{"Service", `projectcontour.io/max-connections: "5"`, "weft has no such bound"},
		{"Service", `projectcontour.io/upstream-protocol.tls: http`, "what others send there is encrypted by Mesh.mtls alone"},
		{"Service", `projectcontour.io/upstream-protocol.h2c: http`, ""},
		{"Service", `projectcontour.io/upstream-protocol.h2c: "81"`, "the service has no port"},
		{"Service", `projectcontour.io/upstream-protocol.h3: "80"`, "there is no protocol"},
		{"Service", `contour.heptio.com/upstream-protocol.tls: "80"`, "write projectcontour.io/upstream-protocol.*"},
		{"Service", `81.service.kuma.io/protocol: http`, "the service has no port"},
		{"Service", `80.service.kuma.io/protocol: http`, ""},
		{"HTTPProxy", `projectcontour.io/response-timeout: 5s`, "write the field of the HTTPProxy"},
		{"HTTPProxy", `cert-manager.io/cluster-issuer: x`, ""},
		{"RouteGroup", `zalando.org/skipper-filter: x`, "write filters of the routes"},
		{"RouteGroup", `zalando.org/skipper-predicate: x`, "write predicates of the routes"},
		{"RouteGroup", `zalando.org/ratelimit: x`, "write filters of the routes"},
		{"RouteGroup", `example.org/team: x`, ""},
	} {
		text := `{apiVersion: v1, kind: Service, metadata: {name: web, namespace: shop}, spec: {ports: [{name: http, port: 80, appProtocol: http}]}}` + "\n---\n" + fmt.Sprintf(documents[c.kind], c.annotation)
		objects, found := world.Decode("x.yaml", []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		m, _ := world.Compile(world.Snapshot(objects...))
		said := ""
		for _, n := range m.Reader(nil).NotesOn(api.Ref{Kind: c.kind, Mesh: "default", Namespace: "shop", Name: "x"}) {
			if strings.HasPrefix(string(n.Field), "metadata.annotations") {
				said += n.Message
			}
		}
		if c.want == "" && said != "" || !strings.Contains(said, c.want) {
			t.Errorf("%s %s: %q, want %q", c.kind, c.annotation, said, c.want)
		}
	}
}
