package inject

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// The webhooks that inject (spec/kubernetes.md 4.2).
const (
	HookNamespace = "namespace.injector.weft.io"
	HookPod       = "pod.injector.weft.io"
)

// Hook is the webhook that the API server calls when the pod is created; empty where it
// calls none, for what is labelled so that no pod has to wait for weft.
func Hook(pod *corev1.Pod, ns Namespace, c Config) string {
	if excludedNamespace(question{pod, ns, c}).verdict != "" {
		return ""
	}
	asked, there := pod.Labels[LabelInjection]
	if slices.Contains([]string{"disabled", "false", "no"}, asked) {
		return ""
	}
	if of := ns.Labels[LabelInjection]; of == "enabled" || of == "true" {
		if pod.Spec.HostNetwork && !there {
			return ""
		}
		return HookNamespace
	}
	if there {
		return HookPod
	}
	return ""
}
