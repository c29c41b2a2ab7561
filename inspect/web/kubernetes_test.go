package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// Documents have the paths that they have in Kubernetes: the same for whoever writes,
// reads and deletes them, and no other. Those of another mesh are found without its name
// where mesh default has none of theirs.
func TestPathsOfKubernetes(t *testing.T) {
	t.Parallel()
	const (
		routes = "/k8s/gateway.networking.k8s.io/v1/namespaces/a/httproutes/"
		route  = `{"apiVersion":"gateway.networking.k8s.io/v1","kind":"HTTPRoute","metadata":{"name":"r","namespace":"a"},"spec":{"parentRefs":[{"group":"","kind":"Service","name":"w"}]}}`
		kuma   = "/k8s/kuma.io/v1alpha1/namespaces/a/meshtimeouts/"
		policy = `{"apiVersion":"kuma.io/v1alpha1","kind":"MeshTimeout","metadata":{"name":"p","namespace":"a","labels":{"kuma.io/mesh":"other"}},"spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"http":{"requestTimeout":"1s"}}}]}}`
		space  = "/k8s/core/v1/namespaces/a"
		spaceA = `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}`
	)
	server, _ := serve(t, "type: Mesh\nname: default\n---\ntype: Mesh\nname: other\n---\ntype: Mesh\nname: empty\n", false)
	for i, c := range []struct {
		method, path, body string
		code               int
		says               string
	}{
		{http.MethodGet, routes + "r", "", 404, ""},
		{http.MethodDelete, routes + "r", "", 404, ""},
		{http.MethodPut, routes + "r", route, 201, ""},
		{http.MethodPut, routes + "r", route, 200, ""},
		{http.MethodPut, routes + "s", route, 400, ""},
		{http.MethodGet, routes + "r", "", 200, `"status":{"parents":[`},
		{http.MethodGet, routes + "r?mesh=default", "", 200, ""},
		{http.MethodGet, routes + "r?mesh=other", "", 404, ""},
		{http.MethodGet, "/k8s/gateway.networking.k8s.io/v2/namespaces/a/httproutes/r", "", 404, ""},
		{http.MethodGet, "/k8s/kuma.io/v1/namespaces/a/httproutes/r", "", 404, ""},
		{http.MethodGet, "/k8s/gateway.networking.k8s.io/v1/namespaces/b/httproutes/r", "", 404, ""},
		{http.MethodGet, "/k8s/gateway.networking.k8s.io/v1/namespaces/a/nothings/r", "", 404, ""},
		{http.MethodGet, "/k8s/gateway.networking.k8s.io/v1/httproutes/r", "", 404, ""},
		{http.MethodDelete, "/k8s/gateway.networking.k8s.io/v1/nothings/r", "", 404, ""},
		{http.MethodPut, "/k8s/gateway.networking.k8s.io/v1/nothings/r", route, 404, ""},
		{http.MethodDelete, routes + "r?dryRun=true", "", 200, `"dryRun":true`},
		{http.MethodDelete, routes + "r?mesh=other", "", 404, ""},
		{http.MethodDelete, routes + "r", "", 200, ""},
		{http.MethodDelete, routes + "r", "", 404, ""},
		{http.MethodPut, kuma + "p?mesh=other", policy, 201, ""},
		{http.MethodGet, kuma + "p?mesh=default", "", 404, ""},
		{http.MethodGet, kuma + "p?mesh=empty", "", 404, ""},
		{http.MethodGet, kuma + "p", "", 200, `"status":{"conditions":[`},
		{http.MethodDelete, kuma + "p", "", 200, ""},
		{http.MethodGet, kuma + "p", "", 404, ""},
		{http.MethodPut, space, spaceA, 201, ""},
		{http.MethodGet, space, "", 200, `"kind":"Namespace"`},
		{http.MethodDelete, space, "", 200, ""},
		{http.MethodGet, space, "", 404, ""},
	} {
		code, text := call(t, c.method, server.URL+c.path, c.body)
		if code != c.code || !strings.Contains(text, c.says) {
			t.Errorf("request %d: %s %s: %d %s", i, c.method, c.path, code, text)
		}
		if c.path == space && code == http.StatusOK && c.method == http.MethodGet && strings.Contains(text, "status") {
			t.Errorf("what is neither route nor policy has a status: %s", text)
		}
	}
}
