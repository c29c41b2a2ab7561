package inject

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/probes"
)

// The volumes of a sidecar.
const (
	volumeRun   = "weft-run" // what it writes; its root is read-only
	volumeToken = "weft-token"
	runDir      = "/run/weft"
	tokenDir    = "/var/run/secrets/weft.io"
	// TokenAudience is that of the token by which a sidecar says whose it is; no other
	// party takes it (spec/kubernetes.md 7.2).
	TokenAudience = "weft-dataplane"
)

// build is the pod with a sidecar.
func build(pod *corev1.Pod, s settings, c Config) (*corev1.Pod, []*api.Violation) {
	out := pod.DeepCopy()
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[api.LabelMesh] = s.mesh
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	for _, a := range s.annotations(pod, c) {
		if _, there := out.Annotations[a.name]; !there {
			out.Annotations[a.name] = a.value
		}
	}
	sidecar := s.sidecar(c)
	if s.native {
		sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		out.Spec.InitContainers = append(out.Spec.InitContainers, sidecar)
	} else {
		out.Spec.Containers = append(out.Spec.Containers, sidecar)
	}
	if s.mode == ModeInit {
		out.Spec.InitContainers = append(out.Spec.InitContainers, s.initContainer(c))
	}
	arrange(out, s.initFirst)
	out.Spec.Volumes = append(out.Spec.Volumes, volumes()...)
	if s.spire {
		c.Spire.mount(out)
	}
	var warnings []*api.Violation
	if s.probePort != 0 {
		var set probes.Set
		set, warnings = rewriteProbes(out, pod, probes.Set{Port: s.probePort})
		setVariable(sidecarOf(out), variableProbes, set.String())
	}
	return out, warnings
}

// arrange puts the containers of weft where they belong, and leaves the order of all
// others. What runs after weft-init and before the sidecar could reach nobody, so with a
// classic sidecar weft-init comes last, unless it is asked to come first.
func arrange(pod *corev1.Pod, initFirst bool) {
	rank := func(c corev1.Container) int {
		switch {
		case c.Name == InitContainer && isClassic(pod) && !initFirst:
			return 3
		case c.Name == InitContainer:
			return 0
		case c.Name == SidecarContainer:
			return 1
		}
		return 2
	}
	order := func(a, b corev1.Container) int { return rank(a) - rank(b) }
	slices.SortStableFunc(pod.Spec.InitContainers, order)
	slices.SortStableFunc(pod.Spec.Containers, order)
}

// isClassic reports whether the sidecar is a container like those of the application.
func isClassic(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == SidecarContainer })
}

// sidecarOf is the sidecar of a pod that has one.
func sidecarOf(pod *corev1.Pod) *corev1.Container {
	for _, c := range containers(pod) {
		if c.Name == SidecarContainer {
			return c.Container
		}
	}
	return nil
}

// annotation is one that injection writes.
type annotation struct{ name, value string }

// annotations are those of an injected pod (spec/kubernetes.md 4.3).
func (s *settings) annotations(pod *corev1.Pod, c Config) []annotation {
	out := []annotation{
		{annotationInjected, "true"},
		{annotationUID, strconv.Itoa(UID)},
		{annotationAdminPort, strconv.Itoa(AdminPort)},
		{annotationProbePort, strconv.Itoa(s.probePort)},
		{annotationInjectedBy, c.Version},
	}
	if s.mode == ModeInit {
		out = append(out,
			annotation{annotationRedirected, "enabled"},
			annotation{annotationInbound, strconv.Itoa(InboundPort)},
			annotation{annotationOutbound, strconv.Itoa(OutboundPort)},
			annotation{annotationFamily, string(s.redirect.IPFamilyMode)},
			annotation{annotationRules, s.redirect.Annotation()})
	}
	if len(pod.Spec.Containers) > 0 {
		out = append(out, annotation{annotationDefault, pod.Spec.Containers[0].Name})
	}
	return out
}

func volumes() []corev1.Volume {
	return []corev1.Volume{
		{Name: volumeRun, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{
			Medium: corev1.StorageMediumMemory, SizeLimit: new(resource.MustParse("64Mi")),
		}}},
		{Name: volumeToken, VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: TokenAudience, ExpirationSeconds: new(int64(3600)), Path: "token",
			}}},
		}}},
	}
}

// complete is an injected pod as it is after others changed it: with their containers'
// probes answered by the sidecar too, and with weft's containers in their places. What
// was not known when it was injected offline is added. A pod that nobody changed stays
// as it is.
func complete(pod *corev1.Pod, s settings, c Config) (*corev1.Pod, []*api.Violation) {
	out := pod.DeepCopy()
	arrange(out, s.initFirst)
	sidecar := sidecarOf(out)
	for _, e := range c.environment() {
		if !slices.ContainsFunc(sidecar.Env, func(have corev1.EnvVar) bool { return have.Name == e.Name }) {
			setVariable(sidecar, e.Name, e.Value)
		}
	}
	before := injectedProbes(out)
	if before.Port == 0 {
		return out, nil
	}
	set, warnings := rewriteProbes(out, pod, before)
	if set.String() != before.String() {
		setVariable(sidecar, variableProbes, set.String())
	}
	return out, warnings
}
