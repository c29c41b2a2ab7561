package convert_test

import (
	"strings"
	"testing"
)

// A policy that targets a translated route by its old kind is named, however it does so.
func TestPoliciesOfTranslatedRoutesAreNamed(t *testing.T) {
	t.Parallel()
	const route = `
{type: HTTPProxy, mesh: default, name: web, labels: {app: web, k8s.kuma.io/namespace: shop}, spec: {virtualhost: {fqdn: a.example.org}, routes: [{services: [{name: v1, port: 80}]}], includes: [{name: child, conditions: [{prefix: /c}]}]}}
---
{type: HTTPProxy, mesh: default, name: child, labels: {k8s.kuma.io/namespace: shop}, spec: {routes: [{services: [{name: v2, port: 80}]}]}}
---
`
	for _, c := range []struct{ ref, home, want string }{
		{"name: web", "", "HTTPProxy web, which is RouteGroup web"},
		{"name: child", "", "HTTPProxy child, which is RouteGroup web"},
		{"labels: {app: web}", "", "HTTPProxy with app: web, which is RouteGroup web"},
		{"labels: {app: other}", "", ""},
		{"name: web, namespace: shop", "", "HTTPProxy web.shop, which is RouteGroup web"},
		{"name: web, namespace: other", "", ""},
		{"name: web", "shop", "HTTPProxy web, which is RouteGroup web"},
		{"name: web", "other", ""},
	} {
		policy := "{type: MeshTimeout, mesh: default, name: slow, LABELS spec: {targetRef: {kind: Mesh}, to: [{targetRef: {kind: HTTPProxy, " + c.ref + "}, default: {http: {requestTimeout: 3s}}}]}}"
		labels := ""
		if c.home != "" {
			labels = "labels: {k8s.kuma.io/namespace: " + c.home + "},"
		}
		told := noted(translatedTo(t, "RouteGroup", route+strings.Replace(policy, "LABELS", labels, 1)), "PolicyTargetsSource")
		named := len(told) == 1 && strings.Contains(told[0], "slow spec.to[0].targetRef: it targets "+c.want)
		if c.want == "" && len(told) > 0 || c.want != "" && !named {
			t.Errorf("{%s} in the namespace %q: %q, want %q", c.ref, c.home, told, c.want)
		}
	}
}
