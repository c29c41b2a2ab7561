package nodetest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/weftmesh/weft/internal/kubetest"
)

// Install applies what `weft install control-plane` prints with these values, and runs the
// pods of its Deployment, whose names are weft-0, weft-1 and so on.
func (n *Node) Install(values ...string) []*Pod {
	n.t.Helper()
	args := []string{"install", "control-plane"}
	for _, v := range values {
		args = append(args, "--set", v)
	}
	var replicas []string // which run when everything is there
	for _, d := range kubetest.Documents(n.t, n.Weft(args...)) {
		switch d["kind"] {
		case "Service":
			n.keep(d)
		case "Deployment":
			n.Apply(n.t, d, "")
			var of appsv1.Deployment
			into(n.t, d, &of)
			for i := range *of.Spec.Replicas {
				replicas = append(replicas, n.replica(&of, int(i)))
			}
		default:
			n.Apply(n.t, d, "")
		}
	}
	var out []*Pod
	for _, document := range replicas {
		out = append(out, n.Begin(document))
	}
	for _, p := range out {
		eventually(n.t, "replica "+p.Name+" is ready", p.Said, p.ready.Load)
	}
	return out
}

// replica is the document of a pod of a Deployment.
func (n *Node) replica(of *appsv1.Deployment, i int) string {
	n.t.Helper()
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": of.Spec.Template.Spec, "metadata": map[string]any{
		"name": fmt.Sprintf("weft-%d", i), "namespace": of.Namespace, "labels": of.Spec.Template.Labels, "annotations": of.Spec.Template.Annotations}}
	text, err := json.Marshal(pod)
	if err != nil {
		n.t.Fatal(err)
	}
	return string(text)
}
