package control_test

import (
	"net/http"
	"strings"

	"github.com/weftmesh/weft/internal/kubetest"
)

// works has the control plane do what it does seldom: Gateways and services of all kinds, a
// Service that changes, one that goes and one whose MeshService somebody else has; users who
// show tokens; tokens that are revoked; and a definition that somebody else has published.
func (g *granted) works() {
	g.Helper()
	for _, document := range []string{
		`{apiVersion: gateway.networking.k8s.io/v1, kind: GatewayClass, metadata: {name: weft}, spec: {controllerName: weft.io/controller}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: edge, namespace: shop}, spec: {gatewayClassName: weft, listeners: [{name: http, port: 80, protocol: HTTP}, {name: tls, port: 443, protocol: TLS, tls: {mode: Passthrough}}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: GRPCRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [{kind: Service, group: "", name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: a, namespace: shop}, spec: {parentRefs: [{kind: Service, group: "", name: web, port: 80}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
		`{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: a, namespace: shop}, spec: {hostnames: [a.example], parentRefs: [{name: edge}], rules: [{backendRefs: [{name: web, port: 80}]}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshExternalService, metadata: {name: far, namespace: weft-system}, spec: {match: {type: HostnameGenerator, port: 80, protocol: http}, endpoints: [{address: far.example, port: 80}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshMultiZoneService, metadata: {name: all, namespace: weft-system}, spec: {selector: {meshService: {matchLabels: {a: b}}}, ports: [{port: 80, appProtocol: http}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: HostnameGenerator, metadata: {name: all, namespace: weft-system}, spec: {selector: {meshExternalService: {matchLabels: {}}}, template: "{{ .DisplayName }}.far.mesh.local"}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshService, metadata: {name: theirs, namespace: "on"}, spec: {selector: {dataplaneTags: {app: theirs}}, ports: [{port: 80}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: theirs, namespace: "on"}, spec: {selector: {app: theirs}, ports: [{port: 80}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: goes, namespace: "on"}, spec: {selector: {app: goes}, ports: [{port: 80}]}}`,
		`{apiVersion: v1, kind: Service, metadata: {name: changes, namespace: "on"}, spec: {selector: {app: changes}, ports: [{port: 80}]}}`,
	} {
		o := kubetest.Document(g, document)
		path := g.Path(g, o)
		if status, got := g.Send(g, http.MethodPost, path[:strings.LastIndex(path, "/")], o); status != http.StatusCreated {
			g.Fatalf("%v: %d %v", o["kind"], status, got["message"])
		}
	}
	const services = "/apis/kuma.io/v1alpha1/namespaces/on/meshservices/"
	for _, name := range []string{"goes", "changes"} {
		eventually(g.T, name+" has a MeshService", func() bool {
			status, _ := g.Send(g, http.MethodGet, services+name, nil)
			return status == http.StatusOK
		})
	}
	replace(g.T, g.Cluster, "/api/v1/namespaces/on/services/changes", `[{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]`)
	if status, got := g.Send(g, http.MethodDelete, "/api/v1/namespaces/on/services/goes", nil); status != http.StatusOK {
		g.Fatal(got["message"])
	}
	// Of a namespace whose pods get no sidecar unasked the API server has the last word.
	if status, got := g.Send(g, http.MethodPost, "/api/v1/namespaces/bare/pods", g.pod("asks", "labels: {kuma.io/sidecar-injection: enabled}")); status != http.StatusCreated {
		g.Fatal(got["message"])
	}
	g.trustRoots()
	if code, text := g.asks(g.Token, http.MethodGet, "/metrics", ""); code != http.StatusOK {
		g.Errorf("metrics: %d %s", code, text)
	}
	g.plane.want(http.StatusOK, http.MethodPost, "/tokens/revoke", `{"ids":["some-token"]}`)
	eventually(g.T, "the RouteGroup has conditions", func() bool {
		_, got := g.Send(g, http.MethodGet, "/apis/zalando.org/v1/namespaces/shop/routegroups/a", nil)
		return got["status"] != nil
	})
	replace(g.T, g.Cluster, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/routegroups.zalando.org", `[{"op": "remove", "path": "/metadata/annotations/weft.io~1bundle-version"}]`)
}

// authorities: a mesh and an identity have roots, which are kept, replaced and taken away.
func (g *granted) authorities() {
	g.Helper()
	mutual := func(enabled, backends string) {
		g.ApplyWarned(g.T, kubetest.Document(g, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: default}, spec: {mtls: {enabledBackend: `+enabled+`, backends: [`+backends+`]}}}`), "")
	}
	const first = "{name: ca-1, type: builtin, mode: PERMISSIVE}"
	mutual("ca-1", first)
	for _, document := range []string{
		`{apiVersion: kuma.io/v1alpha1, kind: MeshIdentity, metadata: {name: own, namespace: weft-system}, spec: {selector: {dataplane: {matchLabels: {app: none}}}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshTLS, metadata: {name: a, namespace: shop}, spec: {targetRef: {kind: Dataplane}, rules: [{default: {mode: Permissive}}]}}`,
		`{apiVersion: kuma.io/v1alpha1, kind: MeshTrafficPermission, metadata: {name: a, namespace: shop}, spec: {targetRef: {kind: Dataplane}, rules: [{default: {allow: [{spiffeID: {type: Prefix, value: "spiffe://default/"}}]}}]}}`,
	} {
		g.ApplyWarned(g.T, kubetest.Document(g, document), "")
	}
	there := func(path string) func() bool {
		return func() bool { status, _ := g.Send(g, http.MethodGet, path, nil); return status == http.StatusOK }
	}
	eventually(g.T, "the mesh has an authority", there(systemTrusts+"/mtls-default"))
	eventually(g.T, "the identity has one", there(systemTrusts+"/own"))
	eventually(g.T, "what it is like is written", func() bool {
		_, got := g.Send(g, http.MethodGet, systemIdentities+"/own", nil)
		return field(got, "status", "conditions", 0) != nil
	})
	mutual("ca-2", first+", {name: ca-2, type: builtin, mode: PERMISSIVE}")
	var status int
	var got map[string]any
	eventually(g.T, "a write of what weft makes meets no other write", func() bool {
		_, trust := g.Send(g, http.MethodGet, systemTrusts+"/own", nil)
		trust["spec"].(map[string]any)["trustDomain"] = "other"
		status, got = g.Send(g, http.MethodPut, systemTrusts+"/own", trust)
		return status != http.StatusConflict // its status may be written at that time
	})
	if status != http.StatusForbidden {
		g.Errorf("somebody else writes what weft makes: %d %v", status, got["message"])
	}
	remove(g.T, g.Cluster, systemIdentities+"/own")
	eventually(g.T, "what was made for it is gone", func() bool { return !there(systemTrusts + "/own")() })
}
