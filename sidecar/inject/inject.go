// Package inject decides which pods get a sidecar, and makes the pods that have one.
//
// The webhook, `weft inject` and everything else that asks share two pure functions,
// Decide and Inject (spec/kubernetes.md 4). They promise: injecting again changes
// nothing, byte for byte; a pod that others changed after it was injected is completed
// and otherwise left alone; nothing of a pod goes away or changes but what its probes and hooks ask; and a
// refusal names every field that is wrong, and changes nothing.
//
// There is no clock, no chance and no order of maps in what comes out. The package asks
// no API server: what it has to know of the world stands in Namespace and Config.
package inject

import (
	"slices"

	"github.com/hashicorp/go-multierror"
	corev1 "k8s.io/api/core/v1"

	"github.com/weftmesh/weft/api"
)

// The names that injection gives. They are reserved: weft-* belongs to weft.
const (
	InitContainer    = api.InitContainer
	SidecarContainer = api.SidecarContainer
	reservedPrefix   = "weft-"
)

// Namespace is what injection reads of the namespace of a pod.
type Namespace struct {
	Name                string
	Labels, Annotations map[string]string
	// Assumed says that nobody saw the namespace: offline, without a document of it, it
	// counts as labelled enabled (spec/kubernetes.md 4.1).
	Assumed bool
}

// Assumed is a namespace of which there is no document.
func Assumed(name string) Namespace {
	return Namespace{Name: name, Labels: map[string]string{LabelInjection: "enabled"}, Assumed: true}
}

// Inject is the pod with a sidecar where Decide says so, completed where it has one, and
// else the pod itself, which is never changed. Warnings are for its writer. The error
// holds every *api.Violation that refuses the pod, with the path of the field in the pod;
// what stands on the namespace has the namespace as its Object.
func Inject(pod *corev1.Pod, ns Namespace, c Config) (*corev1.Pod, []*api.Violation, error) {
	d := Decide(pod, ns, c)
	warnings := decisionWarnings(pod, ns, d)
	if d.Verdict == Skip {
		return pod, warnings, nil
	}
	s, found, refused := read(pod, ns, c)
	if d.Verdict == Complete { // what its annotations say was done, and warned of
		if err := asError(refusedOf(pod, injectedProbePort(pod))); err != nil {
			return pod, warnings, err
		}
		out, more := complete(pod, s, c)
		return out, append(warnings, more...), nil
	}
	refused = append(refused, refusedOf(pod, s.probePort)...)
	refused = append(refused, refusedAnnotations(pod, s, c)...)
	if d.Refusal != nil {
		refused = slices.Insert(refused, 0, d.Refusal)
	}
	warnings = append(warnings, found...)
	if err := asError(refused); err != nil {
		return pod, warnings, err
	}
	out, more := build(pod, s, c)
	return out, slices.Concat(warnings, settingsWarnings(pod, ns, s, c), more), nil
}

// asError is all violations as one error, nil where there are none.
func asError(found []*api.Violation) error {
	var errs *multierror.Error
	for _, v := range found {
		errs = multierror.Append(errs, v)
	}
	return errs.ErrorOrNil()
}

// key is the path of an entry of a map of labels or annotations, as Kubernetes writes it.
func key(at api.Path, name string) api.Path { return at + "[" + api.Path(name) + "]" }

func labelPath(name string) api.Path      { return key("metadata.labels", name) }
func annotationPath(name string) api.Path { return key("metadata.annotations", name) }
