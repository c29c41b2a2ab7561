package inject_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/inject"
)

// The laws of spec/kubernetes.md 4.4, over pods of all shapes.

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

func text(t *rapid.T, p *corev1.Pod) string {
	out, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func equal(t *rapid.T, what string, want, got *corev1.Pod) {
	if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
		t.Fatalf("%s:\n%s", what, diff)
	}
}

// drawn is a pod, and what Inject makes of it.
func drawn(t *rapid.T) (before, after *corev1.Pod, ns inject.Namespace, ok bool) {
	ns = inject.Namespace{Name: "n", Labels: map[string]string{inject.LabelInjection: "enabled"}}
	before = anyPod(t)
	kept := before.DeepCopy()
	after, _, err := inject.Inject(before, ns, config())
	equal(t, "the pod that was given changed", kept, before)
	if err != nil {
		equal(t, "a refusal changes the pod", before, after)
	}
	return before, after, ns, err == nil && inject.Decide(before, ns, config()).Verdict == inject.Injects
}

func TestInjectingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, once, ns, ok := drawn(t)
		twice, _, err := inject.Inject(once, ns, config())
		if ok && err != nil {
			t.Fatal(err)
		}
		equal(t, "injecting again changes it", once, twice)
	})
}

func TestTheSameIsMadeOfTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after, ns, _ := drawn(t)
		for range 5 {
			again, _, _ := inject.Inject(before.DeepCopy(), ns, config())
			equal(t, "it differs from time to time", after, again)
		}
	})
}

// Nothing of a pod goes away or changes but its probes.
func TestInjectOnlyAdds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after, _, ok := drawn(t)
		if !ok {
			return
		}
		for k, v := range before.Annotations {
			if after.Annotations[k] != v {
				t.Fatalf("annotation %s: %q became %q", k, v, after.Annotations[k])
			}
		}
		for k, v := range before.Labels {
			if after.Labels[k] != v {
				t.Fatalf("label %s: %q became %q", k, v, after.Labels[k])
			}
		}
		rest := after.DeepCopy()
		mine := func(c corev1.Container) bool { return strings.HasPrefix(c.Name, "weft-") }
		rest.Spec.InitContainers = slices.DeleteFunc(rest.Spec.InitContainers, mine)
		rest.Spec.Containers = slices.DeleteFunc(rest.Spec.Containers, mine)
		rest.Spec.Volumes = slices.DeleteFunc(rest.Spec.Volumes, func(v corev1.Volume) bool { return strings.HasPrefix(v.Name, "weft-") })
		rest.Annotations, rest.Labels = before.Annotations, before.Labels
		withoutProbes(rest)
		plain := before.DeepCopy()
		withoutProbes(plain)
		equal(t, "the pod changed", plain, rest)
	})
}

// withoutProbes takes away what probes ask, and leaves their timings.
func withoutProbes(p *corev1.Pod) {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for _, probe := range []*corev1.Probe{list[i].LivenessProbe, list[i].ReadinessProbe, list[i].StartupProbe} {
				if probe != nil {
					probe.ProbeHandler = corev1.ProbeHandler{}
				}
			}
		}
	}
	if len(p.Spec.InitContainers) == 0 {
		p.Spec.InitContainers = nil
	}
	if len(p.Spec.Volumes) == 0 {
		p.Spec.Volumes = nil
	}
}

// A pod that another webhook changed is completed: its new probes are asked by the
// sidecar, weft's containers stand in their places, and that is all.
func TestCompletion(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, after, ns, ok := drawn(t)
		if !ok {
			return
		}
		changed := after.DeepCopy()
		late := corev1.Container{Name: "late", Image: "i", LivenessProbe: anyProbe(t, "late")}
		if rapid.Bool().Draw(t, "last") {
			changed.Spec.Containers = append(changed.Spec.Containers, late)
		} else {
			changed.Spec.Containers = slices.Insert(changed.Spec.Containers, 0, late)
		}
		changed.Spec.InitContainers = slices.Insert(changed.Spec.InitContainers, rapid.IntRange(0, len(changed.Spec.InitContainers)).Draw(t, "at"), corev1.Container{Name: "vault", Image: "i"})
		done, _, err := inject.Inject(changed, ns, config())
		if err != nil {
			t.Fatal(err)
		}
		again, _, _ := inject.Inject(done, ns, config())
		equal(t, "completing again changes it", done, again)
		inits, containers := names(done.Spec.InitContainers), names(done.Spec.Containers)
		switch {
		case slices.Contains(containers, inject.SidecarContainer):
			if containers[0] != inject.SidecarContainer {
				t.Fatalf("containers %v", containers)
			}
		case slices.Index(inits, inject.SidecarContainer) > 1 || slices.Index(inits, inject.InitContainer) > 0:
			t.Fatalf("init containers %v", inits)
		}
		// What was there before is as it was, but for the order, and for what the sidecar has to ask.
		for _, pair := range [][2][]corev1.Container{{changed.Spec.Containers, done.Spec.Containers}, {changed.Spec.InitContainers, done.Spec.InitContainers}} {
			if len(pair[0]) != len(pair[1]) {
				t.Fatalf("%v became %v", names(pair[0]), names(pair[1]))
			}
			for _, c := range pair[0] {
				now := pair[1][slices.IndexFunc(pair[1], func(o corev1.Container) bool { return o.Name == c.Name })]
				if c.Name == "late" || c.Name == inject.SidecarContainer {
					c.LivenessProbe, now.LivenessProbe, c.Env, now.Env = nil, nil, nil, nil
				}
				if diff := cmp.Diff(c, now); diff != "" {
					t.Fatalf("%s changed:\n%s", c.Name, diff)
				}
			}
		}
	})
}

// What offline injection did not know is added by the webhook.
func TestCompletionAddsWhatWasUnknown(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	c, ns := config(), inject.Assumed("n")
	c.CA, c.XDSFallback = "", ""
	offline, _, err := inject.Inject(pod, ns, c)
	if err != nil {
		t.Fatal(err)
	}
	done, _, err := inject.Inject(offline, ns, config())
	if err != nil {
		t.Fatal(err)
	}
	direct, _, err := inject.Inject(pod, ns, config())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(direct, done); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(offline, direct); diff == "" {
		t.Error("offline the authority cannot be known")
	}
}

// Case 11 of spec/kubernetes.md 8: a container that comes late with a probe.
func TestALateContainer(t *testing.T) {
	t.Parallel()
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	once, _, err := inject.Inject(pod, inject.Assumed("n"), config())
	if err != nil {
		t.Fatal(err)
	}
	late := once.DeepCopy()
	late.Spec.Containers = append(late.Spec.Containers, corev1.Container{Name: "late", LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(7000)}}}})
	got, _, err := inject.Inject(late, inject.Assumed("n"), config())
	if err != nil {
		t.Fatal(err)
	}
	want := late.DeepCopy()
	want.Spec.Containers[1].LivenessProbe.ProbeHandler = corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/probe/late/liveness", Port: intstr.FromInt32(9001)}}
	for i, e := range want.Spec.InitContainers[1].Env {
		if e.Name == "WEFT_PROBES" {
			want.Spec.InitContainers[1].Env[i].Value = `{"port":9001,"probes":{"late/liveness":{"tcp":{"port":7000},"timeoutSeconds":1}}}`
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
