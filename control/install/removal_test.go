package install_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/control/install"
)

// TestRemoval: of every installation goes what was installed, once: hooks before the control plane that they
// ask, rights after it; and no namespace.
func TestRemoval(t *testing.T) {
	t.Parallel()
	for _, set := range corpus(t) {
		all, err := install.Removal(install.Release{Namespace: "weft-system", Version: "1.2.3", Service: "weft"}, given(t, set))
		if err != nil {
			t.Fatal(err)
		}
		installed, removed, at := map[string]bool{}, map[string]bool{}, map[string]int{}
		for _, o := range rendered(t, set) {
			meta := o["metadata"].(map[string]any)
			namespace, _ := meta["namespace"].(string)
			installed[strings.Join([]string{o["apiVersion"].(string), o["kind"].(string), namespace, meta["name"].(string)}, " ")] = true
		}
		for i, o := range all {
			removed[strings.Join([]string{o.APIVersion, o.Kind, o.Metadata.Namespace, o.Metadata.Name}, " ")] = true
			at[o.Kind] = i
		}
		if diff := cmp.Diff(installed, removed); diff != "" || len(all) != len(removed) {
			t.Errorf("%q: (-installed +removed):\n%s", set, diff)
		}
		kinds := slices.SortedFunc(maps.Keys(at), func(a, b string) int { return at[a] - at[b] })
		if !strings.HasSuffix(kinds[0], "WebhookConfiguration") || !strings.HasSuffix(kinds[1], "WebhookConfiguration") || at["Deployment"] > at["ClusterRoleBinding"] || kinds[len(kinds)-1] != "ServiceAccount" {
			t.Errorf("%q: the order is %v", set, kinds)
		}
	}
}
