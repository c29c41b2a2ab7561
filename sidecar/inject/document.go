package inject

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/api"
)

// PodOf is as much of a pod that a store holds as Decide looks at.
func PodOf(o *api.Object) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: o.Name, Namespace: o.Namespace, Labels: o.Labels}}
	if o.Meta != nil {
		out.Annotations = o.Meta.Annotations
		if len(o.Meta.Owners) > 0 && o.Meta.Owners[0].Kind == api.KindNode { // a mirror pod, whose annotation is not kept
			out.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
		}
	}
	pod, ok := o.Spec.(*api.Pod)
	if !ok {
		return out
	}
	out.Spec.HostNetwork, out.Spec.NodeSelector = pod.Spec.HostNetwork, pod.Spec.NodeSelector
	if pod.Spec.OS != nil {
		out.Spec.OS = &corev1.PodOS{Name: corev1.OSName(pod.Spec.OS.Name)}
	}
	for _, c := range pod.Spec.InitContainers {
		out.Spec.InitContainers = append(out.Spec.InitContainers, corev1.Container{Name: c.Name})
	}
	for _, c := range pod.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name})
	}
	return out
}
