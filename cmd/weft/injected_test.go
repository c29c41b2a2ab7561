package main

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weftmesh/weft/sidecar/inject"
)

// TestInjectedCommandsAreUnderstood holds what injection has containers run to what this
// program takes: an unknown flag would keep every pod of a mesh from starting.
func TestInjectedCommandsAreUnderstood(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
			"kuma.io/envoy-log-level":                         "info",
			"kuma.io/envoy-component-log-level":               "upstream:debug",
			"kuma.io/application-probe-proxy-port":            "9500",
			"kuma.io/builtin-dns-port":                        "15054",
			"kuma.io/transparent-proxying-ip-family-mode":     "ipv4",
			"traffic.kuma.io/exclude-inbound-ports":           "22,8000-8100",
			"traffic.kuma.io/exclude-inbound-ips":             "10.0.0.0/8,fd00::1",
			"traffic.kuma.io/exclude-outbound-ports":          "25",
			"traffic.kuma.io/exclude-outbound-ips":            "10.0.0.1",
			"traffic.kuma.io/exclude-outbound-ports-for-uids": "tcp:22,80:1000-1999;0",
			"traffic.kuma.io/drop-invalid-packets":            "true",
			"weft.io/native-sidecar":                          "false",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}},
	}
	got, _, err := inject.Inject(pod, inject.Assumed("shop"), inject.Default("1"))
	if err != nil {
		t.Fatal(err)
	}
	sidecar := got.Spec.Containers[0]
	commands := [][]string{append(got.Spec.InitContainers[0].Command, got.Spec.InitContainers[0].Args...), append(sidecar.Command, sidecar.Args...)}
	for _, hook := range []*corev1.LifecycleHandler{sidecar.Lifecycle.PostStart, sidecar.Lifecycle.PreStop} {
		commands = append(commands, hook.Exec.Command)
	}
	for _, command := range commands {
		root := newRoot(&app{})
		c, args, err := root.Find(command[1:])
		if err != nil {
			t.Errorf("%v: %v", command, err)
			continue
		}
		var rest []string
		if err := c.ParseFlags(args); err != nil {
			t.Errorf("%v: %v", command, err)
		} else if rest = c.Flags().Args(); len(rest) > 0 {
			t.Errorf("%v: %s does not know %v", command, c.CommandPath(), rest)
		}
	}
}
