package chart

import (
	"context"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/engine"
	"helm.sh/helm/v4/pkg/strvals"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// namespaces is a cluster of which Helm sees the namespaces of these names.
type namespaces []string

func (n namespaces) GetClientFor(_, _ string) (dynamic.NamespaceableResourceInterface, bool, error) {
	return reader{names: n}, false, nil
}

type reader struct {
	dynamic.NamespaceableResourceInterface
	names []string
}

func (r reader) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	if !slices.Contains(r.names, name) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, name)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name}}}, nil
}

// TestMissingNamespaceFailsNoInstallation: a namespace of secrets.namespaces that is not there gets no Role, which
// would fail the release; without a cluster to look at every one gets it.
func TestMissingNamespaceFailsNoInstallation(t *testing.T) {
	t.Parallel()
	values, err := strvals.Parse("secrets.namespaces={edge,later}")
	if err != nil {
		t.Fatal(err)
	}
	for name, cluster := range map[string]namespaces{"edge": {"kube-system", "edge"}, "edge later": nil, "": {"kube-system"}} {
		c := load(t)
		all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "weft", Namespace: "weft-system", IsInstall: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := engine.RenderWithClientProvider(c, all, cluster)
		if err != nil {
			t.Fatal(err)
		}
		var in []string
		for _, o := range documents(t, rendered["weft/templates/roles.yaml"]) {
			o := o.(map[string]any)
			if meta := o["metadata"].(map[string]any); o["kind"] == "Role" && meta["name"] == "weft-secrets" {
				in = append(in, meta["namespace"].(string))
			}
		}
		if got := strings.Join(in, " "); got != name {
			t.Errorf("with namespaces %v there are Roles in %q, want %q", cluster, got, name)
		}
	}
}
