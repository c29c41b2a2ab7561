package inject_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/inject"
)

// Labels and annotations of the pods that laws are tried with.
var (
	anyLabel = rapid.SampledFrom([]string{"", "enabled", "true", "yes", "disabled", "no", "on"})
	values   = map[string][]string{
		"kuma.io/gateway":                           {"enabled", "disabled", "bad"},
		"kuma.io/sidecar-env-vars":                  {"A=1;B=2", "", "WEFT_MESH=x"},
		"kuma.io/sidecar-drain-time":                {"5s", "90s", "soon"},
		"kuma.io/init-first":                        {"true", "false"},
		"kuma.io/application-probe-proxy-port":      {"0", "9500", "9001", "15006"},
		"kuma.io/builtin-dns":                       {"enabled", "no"},
		"traffic.kuma.io/exclude-inbound-ports":     {"80", "1-5,3", "x"},
		"weft.io/native-sidecar":                    {"true", "false"},
		"weft.io/interception-mode":                 {"init", "none"},
		"weft.io/sidecar-resources":                 {`{"limits":{"cpu":"3"}}`, `{`},
		"k8s.kuma.io/spire-support":                 {"true", "disabled", "perhaps"},
		"kuma.io/sidecar-injected":                  {"true"},
		"example.org/other":                         {"x"},
		"kubectl.kubernetes.io/default-container":   {"c1"},
		"kuma.io/transparent-proxying-inbound-port": {"15006", "1"},
	}
)

func anyProbe(t *rapid.T, name string) *corev1.Probe {
	p := &corev1.Probe{PeriodSeconds: rapid.Int32Range(0, 9).Draw(t, "period"), TimeoutSeconds: rapid.Int32Range(0, 3).Draw(t, "timeout")}
	port := rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("web"), intstr.FromString("none"), intstr.FromInt32(9001)}).Draw(t, "port")
	switch rapid.IntRange(0, 5).Draw(t, name) {
	case 0:
		p.HTTPGet = &corev1.HTTPGetAction{Path: rapid.SampledFrom([]string{"", "/x?y=1", "/probe/c0/readiness"}).Draw(t, "path"), Port: port}
	case 1:
		p.HTTPGet = &corev1.HTTPGetAction{Host: "example.org", Port: port}
	case 2:
		p.TCPSocket = &corev1.TCPSocketAction{Port: port}
	case 3:
		p.GRPC = &corev1.GRPCAction{Port: 50051}
	case 4:
		p.Exec = &corev1.ExecAction{Command: []string{"true"}}
	default:
		return nil
	}
	return p
}

func anyContainer(t *rapid.T, name string) corev1.Container {
	c := corev1.Container{Name: name, Image: "i", LivenessProbe: anyProbe(t, "liveness"), ReadinessProbe: anyProbe(t, "readiness"), StartupProbe: anyProbe(t, "startup")}
	if rapid.Bool().Draw(t, "hooks") {
		hook := &corev1.HTTPGetAction{Path: "/x", Port: rapid.SampledFrom([]intstr.IntOrString{intstr.FromInt32(8080), intstr.FromString("web"), intstr.FromInt32(9001)}).Draw(t, "hook")}
		c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{HTTPGet: hook}, PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"true"}}}}
	}
	if n := rapid.SampledFrom([]int32{0, 0, 8080, 80, 15001}).Draw(t, "declared"); n != 0 {
		c.Ports = []corev1.ContainerPort{{Name: "web", ContainerPort: n, Protocol: rapid.SampledFrom([]corev1.Protocol{"", "TCP", "UDP"}).Draw(t, "protocol")}}
	}
	if rapid.IntRange(0, 9).Draw(t, "uid") == 0 {
		c.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(5678))}
	}
	return c
}

func anyPod(t *rapid.T) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n", Annotations: map[string]string{}, Labels: map[string]string{"app": "x"}}}
	if l := anyLabel.Draw(t, "label"); l != "" {
		p.Labels[inject.LabelInjection] = l
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(keys(values))), 0, 4, rapid.ID).Draw(t, "annotations") {
		p.Annotations[name] = rapid.SampledFrom(values[name]).Draw(t, name)
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "inits") {
		c := anyContainer(t, fmt.Sprintf("i%d", i))
		if rapid.Bool().Draw(t, "restarts") {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	for i := range rapid.IntRange(1, 2).Draw(t, "containers") {
		p.Spec.Containers = append(p.Spec.Containers, anyContainer(t, fmt.Sprintf("c%d", i)))
	}
	p.Spec.RestartPolicy = rapid.SampledFrom([]corev1.RestartPolicy{"", corev1.RestartPolicyAlways, corev1.RestartPolicyNever}).Draw(t, "restart")
	p.Spec.HostNetwork = rapid.IntRange(0, 9).Draw(t, "host") == 0
	return p
}

func keys(m map[string][]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}
