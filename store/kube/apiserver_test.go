package kube_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store"
	"github.com/weftmesh/weft/store/kube"
)

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// open reads a cluster until the test ends.
func open(t *testing.T, c *kubetest.Cluster) *kube.Store {
	t.Helper()
	return openAt(t, c, c.URL)
}

// openAt is open by another way.
func openAt(t *testing.T, c *kubetest.Cluster, url string) *kube.Store {
	t.Helper()
	s, err := kube.Open(kube.Config{REST: &rest.Config{Host: url, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA}},
		Catalog: world.Catalog(), Default: world.DefaultMesh(), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func send(t *testing.T, c *kubetest.Cluster, method, path string, body any, want int) {
	t.Helper()
	if status, answer := c.Send(t, method, path, body); status != want {
		t.Fatalf("%s %s: %d %v", method, path, status, answer["message"])
	}
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited for: %s", what)
		}
	}
}

// install creates weft's definitions, but for those of some plurals.
func install(t *testing.T, c *kubetest.Cluster, without ...string) {
	t.Helper()
	all := world.Catalog()
next:
	for _, d := range crd.All(all, "dev", crd.Bundles(all)...) {
		for _, w := range without {
			if strings.HasPrefix(d.Metadata.Name, w+".") {
				continue next
			}
		}
		send(t, c, http.MethodPost, definitions, d, http.StatusCreated)
	}
}

func object(version, kind, namespace, name string, spec any) map[string]any {
	return map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec}
}

func retry(name string, attempts int) map[string]any {
	return object("kuma.io/v1alpha1", "MeshRetry", "default", name, map[string]any{"to": []any{map[string]any{
		"targetRef": map[string]any{"kind": "Mesh"}, "default": map[string]any{"http": map[string]any{"numRetries": attempts}}}}})
}

const retries = "/apis/kuma.io/v1alpha1/namespaces/default/meshretries"

// TestAPIServerIsTheSource: what is applied there arrives, and what goes there goes; who
// writes here is told where to write.
func TestAPIServerIsTheSource(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	install(t, c)
	send(t, c, http.MethodPost, retries, retry("before", 1), http.StatusCreated)
	s := open(t, c)
	if err := s.Synced(t.Context()); err != nil {
		t.Fatal(err)
	}
	ref := func(name string) api.Ref {
		return api.Ref{Kind: "MeshRetry", Mesh: "default", Namespace: "default", Name: name}
	}
	if now := s.Snapshot(); !now.Has(ref("before")) || !now.Has(world.DefaultMesh().Ref) || s.Waiting() != nil || s.Health() != nil {
		t.Fatalf("at the first publication: %d objects, %v", now.Len(), s.Waiting())
	}
	send(t, c, http.MethodPost, retries, retry("later", 2), http.StatusCreated)
	eventually(t, "an object arrives", func() bool { return s.Snapshot().Has(ref("later")) })
	o, _ := s.Snapshot().Get(ref("later"))
	if o.ResourceVersion == "" || o.Generation != 1 || o.Created.IsZero() || len(o.Source.Text) > 0 {
		t.Errorf("it has version %q, generation %d, created %v", o.ResourceVersion, o.Generation, o.Created)
	}
	send(t, c, http.MethodDelete, retries+"/before", nil, http.StatusOK)
	eventually(t, "an object goes", func() bool { return !s.Snapshot().Has(ref("before")) })
	send(t, c, http.MethodPost, "/apis/kuma.io/v1alpha1/meshes", map[string]any{"apiVersion": "kuma.io/v1alpha1", "kind": "Mesh", "metadata": map[string]any{"name": "prod"}, "spec": map[string]any{}}, http.StatusCreated)
	eventually(t, "mesh default goes when there is another", func() bool {
		return s.Snapshot().Has(api.Ref{Kind: api.KindMesh, Name: "prod"}) && !s.Snapshot().Has(world.DefaultMesh().Ref)
	})
	send(t, c, http.MethodDelete, "/apis/kuma.io/v1alpha1/meshes/prod", nil, http.StatusOK)
	eventually(t, "mesh default is back", func() bool { return s.Snapshot().Has(world.DefaultMesh().Ref) })
	_, _, err := s.Apply(t.Context(), store.Writes(store.Write{Put: world.DefaultMesh()}))
	if fmt.Sprint(err) != "written through the Kubernetes API; use kubectl apply" {
		t.Errorf("a write: %v", err)
	}
}

// TestAPIServerDefinesAKindLater is row 53: a kind is read when its definition appears,
// and emptied when it goes; nothing is restarted.
func TestAPIServerDefinesAKindLater(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	install(t, c, "httpproxies")
	s := open(t, c)
	if err := s.Synced(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := world.Catalog()
	for _, d := range crd.All(all, "dev", crd.Bundles(all)...) {
		if d.Metadata.Name == "httpproxies.projectcontour.io" {
			send(t, c, http.MethodPost, definitions, d, http.StatusCreated)
		}
	}
	proxy := object("projectcontour.io/v1", "HTTPProxy", "default", "web", map[string]any{"virtualhost": map[string]any{"fqdn": "web.example.com"},
		"routes": []any{map[string]any{"services": []any{map[string]any{"name": "web", "port": 80}}}}})
	const proxies = "/apis/projectcontour.io/v1/namespaces/default/httpproxies"
	eventually(t, "the API server serves it", func() bool {
		status, _ := c.Send(t, http.MethodPost, proxies, proxy)
		return status == http.StatusCreated
	})
	started := time.Now()
	ref := api.Ref{Kind: "HTTPProxy", Mesh: "default", Namespace: "default", Name: "web"}
	eventually(t, "its objects arrive", func() bool { return s.Snapshot().Has(ref) })
	t.Logf("an object of a new kind was read %v after it was accepted", time.Since(started))
	send(t, c, http.MethodDelete, definitions+"/httpproxies.projectcontour.io", nil, http.StatusOK)
	eventually(t, "its objects go", func() bool { return !s.Snapshot().Has(ref) })
}
