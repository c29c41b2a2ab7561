package writing_test

import (
	"maps"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
	"github.com/weftmesh/weft/store/kube/writing"
)

const kept = "/api/v1/namespaces/kube-system/secrets/default.ca-rotation"

// TestAPIServerPutWritesLabels: what is written again has its new labels beside those that others
// gave it, also where it has none any more.
func TestAPIServerPutWritesLabels(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	w, err := writing.New(nil, world.Catalog(), &rest.Config{Host: c.URL, BearerToken: c.Token, TLSClientConfig: rest.TLSClientConfig{CAData: c.CA}})
	if err != nil {
		t.Fatal(err)
	}
	version := ""
	put := func(trust string) map[string]any {
		t.Helper()
		o := api.NewMeshSecret("default", "kube-system", "default.ca-rotation", []byte("state "+trust))
		o.Labels, o.ResourceVersion = map[string]string{api.LabelTrust: trust}, version
		if version, err = w.Put(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		return labelsOf(t, c)
	}
	put("1")
	label := func(patch string) {
		t.Helper()
		status, got := c.Patch(t, kept, []byte(patch))
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, got["message"])
		}
		version = got["metadata"].(map[string]any)["resourceVersion"].(string)
	}
	label(`[{"op": "add", "path": "/metadata/labels/team", "value": "a"}]`)
	want := labelsOf(t, c)
	want[api.LabelTrust] = "2"
	if got := put("2"); !maps.Equal(got, want) {
		t.Errorf("labels %v, not %v", got, want)
	}
	label(`[{"op": "remove", "path": "/metadata/labels"}]`)
	delete(want, "team")
	if got := put("3"); got[api.LabelTrust] != "3" || len(got) != len(want) {
		t.Errorf("labels %v where there were none", got)
	}
}

func labelsOf(t *testing.T, c *kubetest.Cluster) map[string]any {
	t.Helper()
	status, got := c.Send(t, http.MethodGet, kept, nil)
	if status != http.StatusOK {
		t.Fatalf("%d %v", status, got["message"])
	}
	labels, _ := got["metadata"].(map[string]any)["labels"].(map[string]any)
	return labels
}
