package inject

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
)

// LabelInjection says of a pod, or of a namespace, whether there are to be sidecars.
const LabelInjection = "kuma.io/sidecar-injection"

// LabelAdmission on a namespace, with the value disabled, keeps weft's webhooks out of it.
const LabelAdmission = "weft.io/admission"

// InjectionVerdict is what happens to a pod.
type InjectionVerdict string

// The verdicts.
const (
	Injects  InjectionVerdict = "inject"
	Complete InjectionVerdict = "complete" // it has a sidecar; what others added since is adapted
	Skip     InjectionVerdict = "skip"
	Refuse   InjectionVerdict = "refuse"
)

// Decision is what happens to a pod, and why. Code is what events, metrics and
// `weft inject explain` print.
type Decision struct {
	Verdict InjectionVerdict `json:"verdict"`
	Code    string           `json:"code"`
	Rows    []Check          `json:"rows"` // all of them; those after the one that holds were not asked
	// Refusal is the violation of a pod that this decision refuses.
	Refusal *api.Violation `json:"-"`
}

// Check is one condition of spec/kubernetes.md 4.1. The first that holds decides.
type Check struct {
	Condition string `json:"condition"`
	Found     string `json:"found,omitempty"` // what was looked at: values, and where they stand
	Holds     bool   `json:"holds"`
	Asked     bool   `json:"asked"`
}

// question is what rows look at.
type question struct {
	pod *corev1.Pod
	ns  Namespace
	c   Config
}

// answer is what a row says; without a verdict it does not hold.
type answer struct {
	verdict     InjectionVerdict
	code, found string
	refusal     *api.Violation
}

// rows are in the order of spec/kubernetes.md 4.1.
var rows = []struct {
	condition string
	codes     []string
	ask       func(question) answer
}{
	{"the namespace is Kubernetes's own, the mesh's own, or labelled weft.io/admission: disabled", []string{"NamespaceExcluded"}, excludedNamespace},
	{"it is a mirror pod, or for Windows", []string{"MirrorPod", "WindowsPod"}, notOurs},
	{"it has weft-sidecar and the annotation kuma.io/sidecar-injected: \"true\"", []string{"AlreadyInjected"}, alreadyInjected},
	{"it has a sidecar of another mesh, or a container of its own that is named weft-*", []string{"ForeignSidecar"}, foreignSidecar},
	{"it has a label of injection.exceptions", []string{"ExceptionLabel"}, exceptionLabel},
	{"its label kuma.io/sidecar-injection is disabled, false or no", []string{"PodDisabled"}, podDisabled},
	{"its label kuma.io/sidecar-injection is anything but enabled, true or yes", []string{"InvalidLabel"}, invalidLabel},
	{"it uses the network of the host", []string{"HostNetworkAsked", "HostNetwork"}, hostNetwork},
	{"its label is enabled, or else that of the namespace is enabled or true", []string{"PodEnabled", "NamespaceEnabled"}, enabled},
	{"nobody asks for a sidecar", []string{"NotEnabled", "InvalidNamespaceLabel"}, notEnabled},
}

// Decide says what happens to a pod: the first row that holds.
func Decide(pod *corev1.Pod, ns Namespace, c Config) Decision {
	var d Decision
	for _, r := range rows {
		row := Check{Condition: r.condition}
		if d.Verdict == "" {
			a := r.ask(question{pod, ns, c})
			row.Asked, row.Found, row.Holds = true, a.found, a.verdict != ""
			d.Verdict, d.Code, d.Refusal = a.verdict, a.code, a.refusal
		}
		d.Rows = append(d.Rows, row)
	}
	return d
}

// label is the value of a label and the words for it.
func label(of string, labels map[string]string, name string) (value string, there bool, found string) {
	value, there = labels[name]
	if !there {
		return "", false, of + " has no label " + name
	}
	return value, true, fmt.Sprintf("label %s: %q of the %s", name, redact.Clip(value), strings.TrimPrefix(of, "the "))
}

// KubernetesNamespaces are Kubernetes's own, whose pods never get a sidecar.
var KubernetesNamespaces = []string{"kube-system", "kube-public", "kube-node-lease"}

func excludedNamespace(q question) answer {
	if slices.Contains(KubernetesNamespaces, q.ns.Name) || slices.Contains(q.c.SystemNamespaces, q.ns.Name) {
		return answer{verdict: Skip, code: "NamespaceExcluded", found: "namespace " + q.ns.Name}
	}
	value, _, found := label("the namespace", q.ns.Labels, LabelAdmission)
	if value == "disabled" {
		return answer{verdict: Skip, code: "NamespaceExcluded", found: found}
	}
	return answer{found: "namespace " + q.ns.Name}
}

func notOurs(q question) answer {
	if _, mirror := q.pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return answer{verdict: Skip, code: "MirrorPod", found: "annotation " + corev1.MirrorPodAnnotationKey}
	}
	if os := q.pod.Spec.OS; os != nil && os.Name == corev1.Windows {
		return answer{verdict: Skip, code: "WindowsPod", found: "spec.os.name: windows"}
	}
	if q.pod.Spec.NodeSelector[corev1.LabelOSStable] == string(corev1.Windows) {
		return answer{verdict: Skip, code: "WindowsPod", found: "spec.nodeSelector: " + corev1.LabelOSStable + ": windows"}
	}
	return answer{}
}

// containers are all containers of a pod, init containers first, with their paths.
func containers(pod *corev1.Pod) []located {
	var out []located
	for i := range pod.Spec.InitContainers {
		out = append(out, located{&pod.Spec.InitContainers[i], api.Path("spec.initContainers").Index(i), true})
	}
	for i := range pod.Spec.Containers {
		out = append(out, located{&pod.Spec.Containers[i], api.Path("spec.containers").Index(i), false})
	}
	return out
}

// located is a container and where it stands.
type located struct {
	*corev1.Container
	at   api.Path
	init bool
}

func isInjected(pod *corev1.Pod) bool {
	return pod.Annotations[annotationInjected] == "true" && slices.ContainsFunc(containers(pod), func(c located) bool { return c.Name == SidecarContainer })
}

func alreadyInjected(q question) answer {
	if isInjected(q.pod) {
		return answer{verdict: Complete, code: "AlreadyInjected", found: "container " + SidecarContainer + ", weft " + q.pod.Annotations[annotationInjectedBy]}
	}
	return answer{}
}

// foreign are the sidecars of other meshes.
var foreign = []string{"kuma-sidecar", "istio-proxy", "linkerd-proxy"}

func foreignSidecar(q question) answer {
	for _, c := range containers(q.pod) {
		if slices.Contains(foreign, c.Name) || strings.HasPrefix(c.Name, reservedPrefix) {
			return answer{verdict: Skip, code: "ForeignSidecar", found: fmt.Sprintf("%s.name: %s", c.at, c.Name)}
		}
	}
	return answer{}
}

func exceptionLabel(q question) answer {
	for _, name := range slices.Sorted(maps.Keys(q.c.Injection.Exceptions)) {
		want := q.c.Injection.Exceptions[name]
		if value, there, found := label("the pod", q.pod.Labels, name); there && (want == "*" || want == value) {
			return answer{verdict: Skip, code: "ExceptionLabel", found: found}
		}
	}
	return answer{}
}

func podDisabled(q question) answer {
	value, _, found := label("the pod", q.pod.Labels, LabelInjection)
	if value == "disabled" || value == "false" || value == "no" {
		return answer{verdict: Skip, code: "PodDisabled", found: found}
	}
	return answer{found: found}
}

func invalidLabel(q question) answer {
	value, there, found := label("the pod", q.pod.Labels, LabelInjection)
	if !there || value == "enabled" || value == "true" || value == "yes" {
		return answer{found: found}
	}
	v := labelPath(LabelInjection).Breaks("%q is no answer; write enabled or disabled", redact.Clip(value))
	v.Code = "InvalidLabel"
	return answer{Refuse, v.Code, found, v}
}

func hostNetwork(q question) answer {
	if !q.pod.Spec.HostNetwork {
		return answer{}
	}
	if _, asked := q.pod.Labels[LabelInjection]; !asked {
		return answer{verdict: Skip, code: "HostNetwork", found: "spec.hostNetwork: true"}
	}
	v := api.Path("spec.hostNetwork").Breaks("a pod in the network of its host gets no sidecar: it would redirect the host's traffic; remove hostNetwork or the label %s", LabelInjection)
	v.Code = "HostNetworkAsked"
	return answer{Refuse, v.Code, "spec.hostNetwork: true, and the pod's label asks for a sidecar", v}
}

func enabled(q question) answer {
	if _, there, found := label("the pod", q.pod.Labels, LabelInjection); there { // rows 6 and 7 left nothing else
		return answer{verdict: Injects, code: "PodEnabled", found: found}
	}
	value, _, found := label("the namespace", q.ns.Labels, LabelInjection)
	if q.ns.Assumed {
		found = "namespace " + q.ns.Name + " has no document here and counts as labelled enabled"
	}
	if value == "enabled" || value == "true" {
		return answer{verdict: Injects, code: "NamespaceEnabled", found: found}
	}
	return answer{found: found}
}

func notEnabled(q question) answer {
	value, there, found := label("the namespace", q.ns.Labels, LabelInjection)
	if _, wrong := q.pod.Annotations[LabelInjection]; wrong {
		found += "; annotation " + LabelInjection + " of the pod is not read: write it as a label"
	}
	if !there || value == "disabled" || value == "false" || value == "no" {
		return answer{verdict: Skip, code: "NotEnabled", found: found}
	}
	return answer{verdict: Skip, code: "InvalidNamespaceLabel", found: found}
}
