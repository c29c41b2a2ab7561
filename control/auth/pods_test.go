package auth

import (
	"testing"

	"github.com/weftmesh/weft/api"
)

// TestWhichDataplanesArePods: a dataplane is a pod's by the pod's namespace and name, or as its sidecar calls it, in the
// pod's own mesh, until the pod has ended.
func TestWhichDataplanesArePods(t *testing.T) {
	t.Parallel()
	k := NewPods(func(api.Ref, string) {}, func(api.Ref, string) {})
	add := func(name, phase string) {
		spec := &api.Pod{}
		spec.Status.Phase, spec.Spec.Containers = phase, []api.Container{{Name: api.SidecarContainer}}
		k.pods[podName{"shop", name}] = &api.Object{Ref: api.Ref{Kind: api.KindPod, Namespace: "shop", Name: name}, Spec: spec}
	}
	add("web-1", "Running")
	add("web.a", "Running")
	add("job-1", "Succeeded")
	add("job-2", "Failed")
	for dp, is := range map[api.Ref]bool{
		{Mesh: "default", Namespace: "shop", Name: "web-1"}: true,
		{Mesh: "default", Name: "web-1.shop"}:               true,
		{Mesh: "default", Name: "web.a.shop"}:               true,
		{Mesh: "default", Namespace: "shop", Name: "web.a"}: true,
		{Mesh: "default", Name: "web-1"}:                    false,
		{Mesh: "other", Namespace: "shop", Name: "web-1"}:   false,
		{Mesh: "default", Namespace: "bank", Name: "web-1"}: false,
		{Mesh: "default", Namespace: "shop", Name: "job-1"}: false,
		{Mesh: "default", Namespace: "shop", Name: "job-2"}: false,
		{Mesh: "default", Namespace: "shop", Name: "none"}:  false,
	} {
		if got := k.IsPod(dp); got != is {
			t.Errorf("%+v is that of a pod: %v", dp, got)
		}
	}
}
