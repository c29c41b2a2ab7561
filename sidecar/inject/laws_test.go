package inject_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/sidecar/inject"
)

// The laws of spec/kubernetes.md 4.4, over pods of all shapes.

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

// Nothing of a pod goes away or changes but its probes and hooks.
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

// withoutProbes takes away what probes and hooks ask, and leaves their timings.
func withoutProbes(p *corev1.Pod) {
	for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for _, probe := range []*corev1.Probe{list[i].LivenessProbe, list[i].ReadinessProbe, list[i].StartupProbe} {
				if probe != nil {
					probe.ProbeHandler = corev1.ProbeHandler{}
				}
			}
			if l := list[i].Lifecycle; l != nil {
				for _, hook := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
					if hook != nil {
						hook.HTTPGet = nil
					}
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
		_, _, refusal := inject.Inject(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{late}}}, inject.Assumed("n"), config())
		if refusal != nil { // it asks a port of the sidecar
			return
		}
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
