package install_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/weftmesh/weft/api/crd"
	"github.com/weftmesh/weft/control/install"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerTakesTheControlPlane: everything applies, in a dry run and indeed; applying it
// again changes nothing; and PodSecurity takes the pods at its strictest.
func TestAPIServerTakesTheControlPlane(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	all := rendered(t, "ha=true,networkPolicy=true,secrets.namespaces={shop}")
	for _, ns := range []map[string]any{plain(t, install.Namespace("weft-system")), {"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "shop"}}} {
		c.Apply(t, ns, "")
	}
	for _, d := range crd.All(world.Catalog(), "dev") {
		c.Apply(t, plain(t, d), "")
	}
	versions := map[string]any{}
	for _, o := range all {
		c.Apply(t, o, "dryRun=All")
		if status, got := c.Send(t, http.MethodGet, c.Path(t, o), nil); status != http.StatusNotFound {
			t.Errorf("a dry run stored %v", got["metadata"])
		}
	}
	for _, again := range []bool{false, true} {
		for _, o := range all {
			got := c.Apply(t, o, "")["metadata"].(map[string]any)["resourceVersion"]
			if key := c.Path(t, o); again && versions[key] != got {
				t.Errorf("applying %s again changes it", key)
			} else {
				versions[key] = got
			}
		}
	}
	deployment := one(t, all, "Deployment", install.Name)
	template := deployment["spec"].(map[string]any)["template"].(map[string]any)
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "weft-1", "labels": template["metadata"].(map[string]any)["labels"]}, "spec": template["spec"]}
	const pods = "/api/v1/namespaces/weft-system/pods"
	if status, got, warnings := c.SendWarned(t, http.MethodPost, pods, pod); status != http.StatusCreated || len(warnings) > 0 {
		t.Errorf("the control plane's pod: %d %v %v", status, got["message"], warnings)
	}
	loose := map[string]any{"metadata": map[string]any{"name": "loose"}, "spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": "a"}}}}
	if status, got := c.Send(t, http.MethodPost, pods, loose); status != http.StatusForbidden {
		t.Errorf("another pod beside it: %d %v", status, fmt.Sprint(got["message"]))
	}
}
