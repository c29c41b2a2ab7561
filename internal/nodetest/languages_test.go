package nodetest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/internal/nodetest"
)

// edge is the document of a pod that is an edge dataplane: it listens where its annotation
// says, or the Gateway that its label names.
func edge(name, label, listeners string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: edge, labels: {%s}, annotations: {kuma.io/gateway: builtin%s}}
spec: {containers: [{name: app, image: "example.org/app:1"}]}
`, name, label, listeners)
}

// TestLanguagesThatRun: routes of all languages, each with a policy attached, act on what
// pods of several namespaces and an edge send.
func TestLanguagesThatRun(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, d := range kubetest.Documents(t, b.Weft("install", "crds", "--gateway-api", "standard", "--with", "httpproxy,routegroup")) {
		b.Apply(t, d, "")
	}
	for _, n := range []string{"shop", "buy", "edge"} {
		b.Namespace(n, map[string]string{"kuma.io/sidecar-injection": "enabled"})
	}
	web := "http://" + b.Service(service("shop", "web")) + ":80"
	b.Service(service("shop", "next"))
	b.Create(workload("shop", "web-1", "web"))
	b.Create(workload("shop", "next-1", "next"))
	inShop, inBuy, outside := b.Create(workload("shop", "client-1", "client")), b.Create(workload("buy", "client-1", "client")), b.Create(workload("bare", "client-1", "client"))
	b.ApplyText(gateway)
	public := b.Begin(edge("public-1", "app: public", `, weft.io/edge-listeners: "8080/http"`))
	gw := b.Begin(edge("gw-1", "gateway.networking.k8s.io/gateway-name: gw", ""))
	at := func(p *nodetest.Pod) string { return "http://" + p.Net.IPv4.String() + ":8080" }
	b.Run("an HTTPRoute of the producer is for all callers", func(*testing.T) {
		b.ApplyText(httpRoute("shop", "produced", "{group: '', kind: Service, name: web, port: 80}", "/produced"))
		b.rescued(inBuy, web+"/produced", "HTTPRoute", "shop", "produced")
		b.rescued(inShop, web+"/produced", "", "", "")
	})
	b.Run("an HTTPRoute of a consumer is for its namespace", func(t *testing.T) {
		b.ApplyText(httpRoute("buy", "consumed", "{group: '', kind: Service, name: web, namespace: shop, port: 80}", "/consumed"))
		b.rescued(inBuy, web+"/consumed", "HTTPRoute", "buy", "consumed")
		// Elsewhere the producer's route is the only one, and what it does not match is nobody's.
		if got := b.ask(inShop, web+"/consumed"); got.Status != http.StatusNotFound || got.Pod != "" {
			t.Errorf("another namespace: %+v", got)
		}
	})
	b.Run("an HTTPRoute at a Gateway", func(*testing.T) {
		b.ApplyText(httpRoute("edge", "public", "{name: gw}", "/public"))
		b.rescued(outside, at(gw)+"/public", "HTTPRoute", "edge", "public")
	})
	b.Run("HTTPProxies of two namespaces", func(t *testing.T) {
		// The leaf comes first, and is no part of a tree then; the root serves its own namespace.
		w := b.ApplyText(proxies)
		if len(w) != 2 || !strings.Contains(w[0], "in no chain of includes") || !strings.Contains(w[1], "tree.example.org is served to dataplanes of namespace edge alone") {
			t.Errorf("warnings: %q", w)
		}
		b.rescued(outside, at(public)+"/tree/a", "HTTPProxy", "shop", "leaf", "Host", "tree.example.org")
	})
	b.Run("a RouteGroup at the edge of another namespace", func(t *testing.T) {
		// A host is its namespace's alone until the mesh grants it.
		if w := b.ApplyText(group); len(w) != 1 || !strings.Contains(w[0], "group.example.org is served to dataplanes of namespace shop alone") {
			t.Errorf("warnings: %q", w)
		}
		if got := b.ask(outside, at(public)+"/group", "Host", "group.example.org"); got.Status != http.StatusNotFound {
			t.Errorf("without a grant: %+v", got)
		}
		b.ApplyText(granted)
		b.rescued(outside, at(public)+"/group", "RouteGroup", "shop", "group", "Host", "group.example.org")
	})
}

// rescued attaches a retry to a route, if it is named, and asks until a request that fails
// at first is answered by next-1, to which all these routes send.
func (b *bed) rescued(from *nodetest.Pod, url, kind, namespace, route string, header ...string) {
	b.Helper()
	if kind != "" {
		b.ApplyText(fmt.Sprintf(`
apiVersion: kuma.io/v1alpha1
kind: MeshRetry
metadata: {name: %[3]s, namespace: %[2]s, labels: {kuma.io/mesh: default}}
spec:
  targetRef: {kind: %[1]s, name: %[3]s}
  to:
    - targetRef: {kind: Mesh}
      default: {http: {numRetries: 3, retryOn: [5xx], backOff: {baseInterval: 5ms, maxInterval: 10ms}}}
`, kind, namespace, route))
	}
	var got nodetest.Answer
	var err error
	for end, i := time.Now().Add(20*time.Second), 0; time.Now().Before(end); i++ {
		id := fmt.Sprint(strings.Join(header, "/"), url, from.Namespace, i)
		if got, err = from.Ask(url, append([]string{"Id", id, "Script", "503,503,200"}, header...)...); err == nil && got.Status == 200 && got.Pod == "next-1" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	b.Errorf("%s: the last answer is %+v, %v\n%s", url, got, err, from.Said())
}

// httpRoute is a route of what begins with a path to service next of namespace shop.
func httpRoute(namespace, name, parent, path string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: %s, namespace: %s}
spec:
  parentRefs: [%s]
  rules:
    - matches: [{path: {type: PathPrefix, value: %s}}]
      backendRefs: [{name: next, namespace: shop, port: 80}]
`, name, namespace, parent, path)
}

const gateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: weft}
spec: {controllerName: weft.io/controller}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: edge}
spec: {gatewayClassName: weft, listeners: [{name: http, port: 8080, protocol: HTTP}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: routes, namespace: shop}
spec:
  from:
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: edge}
    - {group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: buy}
  to: [{group: "", kind: Service}]
`

const proxies = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: leaf, namespace: shop}
spec:
  routes: [{conditions: [{prefix: /a}], services: [{name: next, port: 80}]}]
---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: root, namespace: edge}
spec:
  virtualhost: {fqdn: tree.example.org}
  includes: [{name: leaf, namespace: shop, conditions: [{prefix: /tree}]}]
`

const granted = `
apiVersion: kuma.io/v1alpha1
kind: Mesh
metadata: {name: default}
spec:
  tenancy: {hosts: {mode: Owned, grants: [{namespaces: [shop], hosts: [group.example.org]}]}}
`

const group = `
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: group, namespace: shop}
spec:
  hosts: [group.example.org]
  backends: [{name: next, type: service, serviceName: next, servicePort: 80}]
  routes: [{pathSubtree: /group, backends: [{backendName: next}]}]
`
