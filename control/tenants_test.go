package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerTenantsOfOneMesh tries each line of docs/tenants.md as somebody with `edit` in one
// namespace of a cluster: what they may write, what is refused, and what is accepted and acts in
// their own namespace alone, as the warning of the API server says.
func TestAPIServerTenantsOfOneMesh(t *testing.T) {
	t.Parallel()
	g := newGranted(t)
	g.register()
	g.asked()
	for _, role := range []string{"system:aggregate-to-edit", "system:aggregate-to-view", "weft-edit", "weft-view"} {
		for _, namespace := range []string{"on", "bare"} {
			create(t, g.Cluster, "/apis/rbac.authorization.k8s.io/v1/namespaces/"+namespace+"/rolebindings",
				fmt.Sprintf("{metadata: {name: %q}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %q}, subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: ann}]}", role, role))
		}
	}
	const meshes = "/apis/kuma.io/v1alpha1/meshes"
	eventually(t, "the leader has made mesh default", func() bool {
		status, _ := g.Send(t, http.MethodGet, meshes+"/default", nil)
		return status == http.StatusOK
	})
	g.Apply(t, kubetest.Document(t, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: default}, spec: {tenancy: {namespaces: ["on", "off"], hosts: {mode: Owned, grants: [{namespaces: ["on"], hosts: [granted.example]}]}, ingressClasses: [weft]}}}`), "")
	ann := g.As("ann")
	proxy := func(name, host, more string) string {
		return fmt.Sprintf(`{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: %s}, spec: {%s virtualhost: {fqdn: %s}, routes: [{services: [{name: web, port: 80}]}]}}`, name, more, host)
	}
	eventually(t, "the Mesh is read", func() bool {
		status, _, _ := ann.SendWarned(t, http.MethodPost, "/apis/projectcontour.io/v1/namespaces/bare/httpproxies?dryRun=All", kubetest.Document(t, proxy("probe", "a.example", "")))
		return status == http.StatusUnprocessableEntity
	})
	for _, c := range []struct {
		line, path, document string
		status               int
		says                 string // in a warning, or in the refusal
	}{
		{"a host that is granted to nobody acts on her own pods", "/apis/projectcontour.io/v1/namespaces/on/httpproxies", proxy("stripe", "api.stripe.com", ""), http.StatusCreated, "tenancy.hosts.grants"},
		{"a RouteGroup is no way around it", "/apis/zalando.org/v1/namespaces/on/routegroups", `{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: stripe}, spec: {hosts: [api.stripe.com], backends: [{name: web, type: service, serviceName: web, servicePort: 80}], defaultBackends: [{backendName: web}], routes: [{pathSubtree: /}]}}`, http.StatusCreated, "tenancy.hosts.grants"},
		{"a route of another controller's class is that one's", "/apis/projectcontour.io/v1/namespaces/on/httpproxies", proxy("other", "other.example", "ingressClassName: other,"), http.StatusCreated, ""},
		{"a namespace outside of the mesh adds nothing to it", "/apis/projectcontour.io/v1/namespaces/bare/httpproxies", proxy("outside", "a.example", ""), http.StatusUnprocessableEntity, "is not part of mesh default"},
		{"nor policies", "/apis/kuma.io/v1alpha1/namespaces/bare/meshretries", retryOf("outside", `{numRetries: 3}`, ""), http.StatusUnprocessableEntity, "is not part of mesh default"},
		{"nor pods", "/api/v1/namespaces/bare/pods", `{apiVersion: v1, kind: Pod, metadata: {name: outside, labels: {kuma.io/sidecar-injection: enabled}}, spec: {serviceAccountName: default, containers: [{name: app, image: app}]}}`, http.StatusUnprocessableEntity, "is not part of mesh default"},
		{"who the tenants are is for administrators", meshes, `{apiVersion: kuma.io/v1alpha1, kind: Mesh, metadata: {name: hers}, spec: {tenancy: {edges: ["on"]}}}`, http.StatusForbidden, ""},
		{"so is what names the whole mesh", "/apis/kuma.io/v1alpha1/namespaces/on/meshexternalservices", `{apiVersion: kuma.io/v1alpha1, kind: MeshExternalService, metadata: {name: stripe}, spec: {match: {type: HostnameGenerator, port: 80, protocol: http}, endpoints: [{address: 10.9.9.9, port: 80}]}}`, http.StatusForbidden, ""},
		{"another namespace is not hers", "/apis/projectcontour.io/v1/namespaces/off/httpproxies", proxy("off", "off.example", ""), http.StatusForbidden, ""},
	} {
		status, got, warnings := ann.SendWarned(t, http.MethodPost, c.path+"?dryRun=All", kubetest.Document(t, c.document))
		said := fmt.Sprint(got["message"], warnings)
		if status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s: %d %s, want %d %q", c.line, status, said, c.status, c.says)
		}
	}
	status, got, warnings := ann.SendWarned(t, http.MethodPost, "/apis/projectcontour.io/v1/namespaces/on/httpproxies?dryRun=All", kubetest.Document(t, proxy("granted", "granted.example", "")))
	if status != http.StatusCreated || strings.Contains(fmt.Sprint(warnings), "tenancy.hosts") {
		t.Errorf("a host that is granted: %d %v %v", status, got["message"], warnings)
	}
	if status, _ := ann.Send(t, http.MethodPatch, meshes+"/default", kubetest.Document(t, `{spec: {}}`)); status != http.StatusForbidden && status != http.StatusUnsupportedMediaType {
		t.Errorf("she changes the Mesh: %d", status)
	}
}
