package kube_test

import (
	"net/http"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/kubetest"
)

// TestAPIServerOwnersOfPods: whose a Pod is follows from kinds of other groups of Kubernetes.
func TestAPIServerOwnersOfPods(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	s := open(t, c)
	pod := map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}}, "spec": map[string]any{
		"containers": []any{map[string]any{"name": "app", "image": "example.org/app"}}, "restartPolicy": "Always"}}
	owner := []any{map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u-1", "controller": true}}
	rs := object("apps/v1", "ReplicaSet", "default", "web-7d", map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}}, "template": pod})
	rs["metadata"].(map[string]any)["ownerReferences"] = owner
	send(t, c, http.MethodPost, "/apis/apps/v1/namespaces/default/replicasets", rs, http.StatusCreated)
	pod["spec"].(map[string]any)["restartPolicy"] = "Never"
	job := object("batch/v1", "Job", "default", "nightly-1", map[string]any{"template": map[string]any{"spec": pod["spec"]}})
	job["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "u-2", "controller": true}}
	send(t, c, http.MethodPost, "/apis/batch/v1/namespaces/default/jobs", job, http.StatusCreated)
	for kind, want := range map[string]api.Ref{api.KindReplicaSet: {Kind: "Deployment", Name: "web"}, api.KindJob: {Kind: "CronJob", Name: "nightly"}} {
		eventually(t, "the owner of a "+kind, func() bool {
			for o := range s.Snapshot().OfKind(kind) {
				if o.Meta != nil && len(o.Meta.Owners) > 0 && o.Meta.Owners[0].Kind == want.Kind && o.Meta.Owners[0].Name == want.Name {
					return true
				}
			}
			return false
		})
	}
}
