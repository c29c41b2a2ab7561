package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerUninstall: what was installed goes without holding up anybody, and documents stay until
// somebody asks for the end of their definitions.
func TestAPIServerUninstall(t *testing.T) {
	t.Parallel()
	s := &story{T: t, Cluster: kubetest.Start(t)}
	const values = "ha=true,networkPolicy=true,writeDataplanes=true,secrets.namespaces={edge}" // nobody has made edge
	installed := kubetest.Documents(t, []byte(s.weft("install", "control-plane", "--set", values)))
	hook := func(o map[string]any) bool { return strings.HasSuffix(o["kind"].(string), "WebhookConfiguration") }
	apply := func(which func(map[string]any) bool) {
		for _, o := range installed {
			if which(o) {
				s.Apply(t, o, "")
			}
		}
	}
	apply(func(o map[string]any) bool { return !hook(o) })
	for _, text := range []string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {kuma.io/sidecar-injection: enabled}}",
		"apiVersion: kuma.io/v1alpha1\nkind: Mesh\nmetadata: {name: default}\nspec: {}",
		"apiVersion: kuma.io/v1alpha1\nkind: MeshRetry\nmetadata: {name: r, namespace: shop}\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2}}}]}",
		"apiVersion: kuma.io/v1alpha1\nkind: MeshTimeout\nmetadata: {name: t, namespace: weft-system}\nspec: {to: [{targetRef: {kind: Mesh}, default: {http: {requestTimeout: 9s}}}]}",
	} {
		s.Apply(t, kubetest.Documents(t, []byte(text))[0], "")
	}
	documents := []string{"/apis/kuma.io/v1alpha1/meshes/default", "/apis/kuma.io/v1alpha1/namespaces/shop/meshretries/r", "/apis/kuma.io/v1alpha1/namespaces/weft-system/meshtimeouts/t"}
	there := func(path string) bool {
		status, _ := s.Send(t, http.MethodGet, path, nil)
		return status == http.StatusOK
	}
	apply(hook)
	create := func() int {
		status, _ := s.Send(t, http.MethodPost, "/api/v1/namespaces/shop/pods?dryRun=All", map[string]any{"metadata": map[string]any{"name": "p"},
			"spec": map[string]any{"serviceAccountName": "default", "containers": []any{map[string]any{"name": "a", "image": "a"}}}})
		return status
	}
	s.until("pods wait for a control plane", func() bool { return create() == http.StatusInternalServerError })

	removed := kubetest.Documents(t, []byte(s.weft("uninstall", "control-plane", "--set", values)))
	if len(removed) < 3 || !hook(removed[0]) || !hook(removed[1]) {
		t.Fatalf("the hooks are not first: %v", removed)
	}
	remove := func(o map[string]any) {
		t.Helper()
		if status, got := s.Send(t, http.MethodDelete, s.Path(t, o), nil); status != http.StatusOK && status != http.StatusAccepted {
			t.Errorf("%v %v: %d %v", o["kind"], o["metadata"], status, got["message"])
		}
	}
	remove(removed[0])
	remove(removed[1])
	s.until("pods wait for nobody", func() bool { return create() == http.StatusCreated })
	for _, o := range removed[2:] {
		remove(o)
	}
	for _, o := range installed {
		kept := o["kind"] == "Namespace" || o["kind"] == "CustomResourceDefinition"
		if path := s.Path(t, o); there(path) != kept {
			t.Errorf("%s is there: %t, want %t", path, !kept, kept)
		}
	}
	for _, path := range documents {
		if !there(path) {
			t.Errorf("%s went with the control plane", path)
		}
	}

	all := kubetest.Documents(t, []byte(s.weft("uninstall", "control-plane", "--set", values, "--crds")))
	if len(all) <= len(removed) {
		t.Fatalf("--crds prints %d objects, %d without it", len(all), len(removed))
	}
	for _, o := range all[len(removed):] {
		if o["kind"] != "CustomResourceDefinition" {
			t.Errorf("--crds prints %v %v", o["kind"], o["metadata"])
		}
		remove(o)
	}
	for _, path := range documents {
		s.until("no document is left", func() bool { return !there(path) })
	}
}
