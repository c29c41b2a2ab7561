package kube_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store/kube"
)

// TestAPIServerDeniesSecretsOfANamespace: where one of the namespaces whose Secrets are read is
// not granted, all else is read, a problem says what to grant, and granting it is enough.
func TestAPIServerDeniesSecretsOfANamespace(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	const rbac = "/apis/rbac.authorization.k8s.io/v1/"
	read := []any{"get", "list", "watch"}
	subjects := []any{map[string]any{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "plane"}}
	all := object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "plane", nil)
	all["rules"] = []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"namespaces", "nodes", "pods", "services"}, "verbs": read},
		map[string]any{"apiGroups": []any{"apps", "batch", "discovery.k8s.io", "apiextensions.k8s.io"}, "resources": []any{"*"}, "verbs": read}}
	send(t, c, http.MethodPost, rbac+"clusterroles", all, http.StatusCreated)
	bound := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "plane", nil)
	bound["roleRef"], bound["subjects"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "plane"}, subjects
	send(t, c, http.MethodPost, rbac+"clusterrolebindings", bound, http.StatusCreated)
	grant := func(namespace string) {
		role := object("rbac.authorization.k8s.io/v1", "Role", namespace, "plane", nil)
		role["rules"] = []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"secrets"}, "verbs": read}}
		send(t, c, http.MethodPost, rbac+"namespaces/"+namespace+"/roles", role, http.StatusCreated)
		binding := object("rbac.authorization.k8s.io/v1", "RoleBinding", namespace, "plane", nil)
		binding["roleRef"], binding["subjects"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "plane"}, subjects
		send(t, c, http.MethodPost, rbac+"namespaces/"+namespace+"/rolebindings", binding, http.StatusCreated)
	}
	for _, namespace := range []string{"given", "denied"} {
		send(t, c, http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", "", namespace, nil), http.StatusCreated)
		secret := object("v1", "Secret", namespace, "cert", nil)
		secret["type"] = "Opaque"
		send(t, c, http.MethodPost, "/api/v1/namespaces/"+namespace+"/secrets", secret, http.StatusCreated)
	}
	grant("given")
	s, err := kube.Open(kube.Config{REST: &rest.Config{Host: c.URL, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA}, Impersonate: rest.ImpersonationConfig{UserName: "plane"}},
		Catalog: world.Catalog(), Default: world.DefaultMesh(), Secrets: []string{"given", "denied", "given", "none"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	eventually(t, "all else is read", func() bool { return s.Waiting() == nil })
	secrets := func() (out string) {
		for o := range s.Snapshot().OfKind(api.KindSecret) {
			out += o.Namespace + "/" + o.Name + " "
		}
		return out
	}
	denied := func() (out string) {
		for _, p := range s.Problems() {
			if p.Code == "SecretsDenied" && strings.Contains(p.Message, "--secret-namespaces") {
				out += p.Object.String() + " "
			}
		}
		return out
	}
	if got := fmt.Sprint(secrets(), "| ", denied()); got != "given/cert | Namespace/denied Namespace/none " {
		t.Errorf("read and denied are %s", got)
	}
	if s.Stale() != 0 {
		t.Error("a namespace that is denied makes all stale")
	}
	grant("denied")
	eventually(t, "it is read when it is granted", func() bool { return strings.Contains(secrets(), "denied/cert") })
	eventually(t, "and no problem any more", func() bool { return denied() == "Namespace/none " })
}
