package inject

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// labelEnforce on a namespace is the level of Pod Security that its pods have to keep to.
const labelEnforce = "pod-security.kubernetes.io/enforce"

// labelWorkload is computed from the service account (spec/kubernetes.md 2.2).
const labelWorkload = "kuma.io/workload"

// MeshOf is the mesh of a pod: its label, else that of its namespace, else the default one.
func MeshOf(pod *corev1.Pod, ns Namespace) string {
	return cmp.Or(pod.Labels[api.LabelMesh], ns.Labels[api.LabelMesh], api.DefaultMesh)
}

// meshOf is MeshOf, and what is wrong with it.
func meshOf(pod *corev1.Pod, ns Namespace, c Config) (string, []*api.Violation) {
	mesh, object := MeshOf(pod, ns), api.Ref{}
	if pod.Labels[api.LabelMesh] == "" && ns.Labels[api.LabelMesh] != "" {
		object = api.Ref{Kind: "Namespace", Name: ns.Name}
	}
	at := labelPath(api.LabelMesh)
	switch found := api.Violations(api.ValidateMeshName(at, mesh)); {
	case len(found) > 0:
		return mesh, []*api.Violation{named(found[0], object)}
	case c.Meshes != nil && !slices.Contains(c.Meshes, mesh):
		v := at.Breaks("there is no mesh %q; there are %s: name one of them, or create it", redact.Clip(mesh), strings.Join(c.Meshes, ", "))
		v.Code = "MeshNotFound"
		return mesh, []*api.Violation{named(v, object)}
	}
	return mesh, nil
}

// refusedOf is what a pod itself must not have beside a sidecar.
func refusedOf(pod *corev1.Pod, probePort int) []*api.Violation {
	var out []*api.Violation
	refuse := func(v *api.Violation, code string) {
		v.Code = code
		out = append(out, v)
	}
	injected := isInjected(pod)
	if value, there := pod.Labels[labelWorkload]; there && !injected {
		refuse(labelPath(labelWorkload).Breaks("the workload is %s by its service account, and nothing else; remove the label %q", workload(pod), redact.Clip(value)), "ReservedLabel")
	}
	if s := pod.Spec.SecurityContext; s != nil && s.RunAsUser != nil && *s.RunAsUser == UID {
		refuse(api.Path("spec.securityContext.runAsUser").Breaks("%d is the user of the sidecar, whose traffic is not redirected; choose another", UID), "ReservedUser")
	}
	for _, c := range containers(pod) {
		if injected && strings.HasPrefix(c.Name, reservedPrefix) {
			continue
		}
		if s := c.SecurityContext; s != nil && s.RunAsUser != nil && *s.RunAsUser == UID {
			refuse(c.at.Field("securityContext.runAsUser").Breaks("%d is the user of the sidecar, whose traffic is not redirected; choose another", UID), "ReservedUser")
		}
		reserve := func(at api.Path, n int) {
			if slices.Contains(reservedPorts, n) || probePort != 0 && n == probePort {
				what := "choose another"
				if n == probePort {
					what = "choose another, or another port for the probes by the annotation " + annotationProbePort
				}
				refuse(at.Breaks("%d is a port of the sidecar; %s", n, what), "ReservedPort")
			}
		}
		for i, p := range c.Ports {
			reserve(c.at.Field("ports").Index(i).Field("containerPort"), int(p.ContainerPort))
		}
		for _, a := range askedOf(c.Container) { // a number says that the application listens there; a name is that of a port above
			if at, port := a.port(); port != nil && port.Type == intstr.Int && !a.atAgent(c.Name, probePort) {
				reserve(c.at.Field(string(at)), int(port.IntVal))
			}
		}
	}
	for i, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, reservedPrefix) && !injected {
			refuse(api.Path("spec.volumes").Index(i).Field("name").Breaks("names that begin with %s belong to the sidecar; choose another", reservedPrefix), "ReservedVolume")
		}
	}
	return out
}

// workload is the service account of a pod.
func workload(pod *corev1.Pod) string {
	if pod.Spec.ServiceAccountName == "" {
		return "default"
	}
	return pod.Spec.ServiceAccountName
}

// refusedAnnotations are those that injection writes, where the pod has them with another
// value: nothing of a pod is replaced.
func refusedAnnotations(pod *corev1.Pod, s settings, c Config) []*api.Violation {
	var out []*api.Violation
	for _, a := range s.annotations(pod, c) {
		if have, there := pod.Annotations[a.name]; there && have != a.value && table[a.name].role == written {
			v := annotationPath(a.name).Breaks("weft writes %q there itself; remove it", a.value)
			v.Code = "InvalidAnnotation"
			out = append(out, v)
		}
	}
	return out
}

// decisionWarnings are what the labels that decided give reason to say.
func decisionWarnings(pod *corev1.Pod, ns Namespace, d Decision) []*api.Violation {
	var out []*api.Violation
	if d.Code == "ForeignSidecar" {
		for _, r := range d.Rows {
			if r.Holds {
				out = append(out, api.Path("").Warns(d.Code, "the pod gets no sidecar beside %s; remove that container, or give it another name", r.Found))
			}
		}
	}
	if d.Code == "InvalidNamespaceLabel" {
		out = append(out, named(labelPath(LabelInjection).Warns(d.Code, "%q is no answer, so the pod gets no sidecar; write enabled or disabled", redact.Clip(ns.Labels[LabelInjection])), api.Ref{Kind: "Namespace", Name: ns.Name}))
	}
	if value := pod.Labels[LabelInjection]; value == "yes" || value == "no" {
		out = append(out, labelPath(LabelInjection).Warns("DeprecatedValue", "yes and no go away; write enabled or disabled"))
	}
	if d.Verdict == Skip { // else all annotations are read
		if _, wrong := pod.Annotations[LabelInjection]; wrong {
			out = append(out, annotationPath(LabelInjection).Warns("IgnoredAnnotation", "is read as a label only; write it under metadata.labels"))
		}
	}
	return out
}

// settingsWarnings are what may surprise, though the pod gets its sidecar.
func settingsWarnings(pod *corev1.Pod, ns Namespace, s settings, c Config) []*api.Violation {
	var out []*api.Violation
	if level := ns.Labels[labelEnforce]; level == "baseline" || level == "restricted" {
		forbidden := func(format string, args ...any) {
			out = append(out, named(labelPath(labelEnforce).Warns("PodSecurity", level+" forbids "+format, args...), api.Ref{Kind: "Namespace", Name: ns.Name}))
		}
		if s.mode == ModeInit {
			forbidden("the NET_ADMIN of %s, so the pod is refused unless it is exempt; set weft.io/interception-mode: none, or enforce privileged", InitContainer)
		}
		if s.spire && c.Spire.Volume == SpireByHostPath {
			forbidden("the hostPath of the SPIRE agent's socket, so the pod is refused unless it is exempt; mount it by the SPIFFE CSI driver (value spire.volume: csi), set %s: \"false\", or enforce privileged", annotationSpire)
		}
	}
	if _, wrong := pod.Labels[annotationSpire]; wrong {
		out = append(out, labelPath(annotationSpire).Warns("IgnoredLabel", "is read as an annotation only; write it under metadata.annotations"))
	}
	if s.drainAsked && s.drains < s.drain {
		out = append(out, annotationPath("kuma.io/sidecar-drain-time").Warns("DrainTooLong",
			"the sidecar would drain for %s, but the pod ends before: it stops by %ds; raise terminationGracePeriodSeconds to %d or more, or drain for less", s.drain, s.drains/time.Second, (s.drain+killing+time.Second-1)/time.Second))
	}
	for _, c := range containers(pod) {
		for i, p := range c.Ports {
			if p.Protocol == corev1.ProtocolUDP {
				out = append(out, c.at.Field("ports").Index(i).Field("protocol").Warns("NotRedirected", "UDP passes by the sidecar; the port is reached as without one"))
			}
		}
	}
	return out
}
