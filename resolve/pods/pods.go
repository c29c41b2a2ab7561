// Package pods makes Dataplanes of Pods (spec/kubernetes.md 2).
//
// Dataplane is a pure function of a pod and what is around it, shared by clusters,
// standalone stores and offline commands. Stage keeps the Dataplanes of all pods, and the
// meshes of Services, up to date at a cost that follows the change.
//
// A pod that is not injected has no Dataplane, and so has one that nobody can call. What
// cannot be carried out as somebody wrote it becomes a note on the object that says it.
package pods

import (
	"cmp"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/weftmesh/weft/api"
)

// Around is what the Dataplane of a pod follows from beside the pod itself.
type Around struct {
	Zone      string        // of the control plane
	Namespace *api.Object   // that of the pod; nil where there is no document of it
	Node      *api.Object   // on which the pod runs; nil where there is no document of it
	Services  []*api.Object // of the pod's namespace; those that do not select it may be missing
	Slices    []*api.Object // EndpointSlices of the namespace; those that do not name the pod may be missing
	// Unselecting are labels that Services may ask for and pods lack: such a Service names an
	// inbound, at which nobody is called (spec/kubernetes.md 2.9).
	Unselecting []string
	// Owner finds an object of the pod's namespace that owns others, or is nil.
	Owner func(kind, name string) *api.Object
}

// The defaults of what injection writes.
const (
	adminPort     = 9901
	inboundPort   = 15006
	outboundPort  = 15001
	variableMesh  = "WEFT_MESH"
	defaultObject = "default" // the name of a service account that is not named
)

// Dataplane is that of a pod, nil where it has none; its From is the pod. The notes are
// on the pod and on Services that select it.
func Dataplane(pod *api.Object, around Around) (*api.Object, []api.Note) {
	f, notes := formOf(pod, around)
	if f == nil {
		return nil, nil
	}
	return f.of(pod), notes
}

// has reports whether a pod has a Dataplane (spec/kubernetes.md 2.1, 2.12).
func has(pod *api.Object, spec *api.Pod, namespace *api.Object) bool {
	switch {
	case spec.Container(api.SidecarContainer) == nil || spec.Spec.HostNetwork:
		return false
	case spec.Status.Phase == "Succeeded" || spec.Status.Phase == "Failed" || spec.Status.Reason == "Evicted":
		return false
	case namespace != nil && namespace.Deleting():
		return false
	}
	return addressOf(pod, spec) != ""
}

// isDocument reports whether a pod is one that no cluster runs: clusters give each a UID.
func isDocument(pod *api.Object) bool { return pod.UID() == "" }

// addressOf is where a pod is called, empty where nobody can: at its own address, and a
// document without one at one of 198.18.0.0/15 that follows from its name.
func addressOf(pod *api.Object, spec *api.Pod) string {
	if ip, err := netip.ParseAddr(spec.Status.PodIP); err == nil {
		return ip.String()
	}
	if !isDocument(pod) {
		return ""
	}
	n := hashOf(pod)
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>16&1), byte(n >> 8), byte(n)}).String()
}

// Addresses are those at which a Service is called. The document of one that no cluster has
// given any is called at one of 244.0.0.0/8 that follows from its name: virtual addresses, which
// package vips gives away, lie below (spec/kuma.md 1.5).
func Addresses(o *api.Object, spec *api.Service) []string {
	if out := spec.Addresses(); len(out) > 0 || spec.Headless() || spec.External() || o.UID() != "" {
		return out
	}
	n := hashOf(o)
	return []string{netip.AddrFrom4([4]byte{244, byte(n >> 16), byte(n >> 8), byte(n)}).String()}
}

// hashOf is a number that follows from the name of an object.
func hashOf(o *api.Object) uint32 {
	h := fnv.New32a()
	h.Write([]byte(o.Namespace + "/" + o.Name))
	return h.Sum32()
}

// otherAddresses are those of the pod beside addressOf: of the other family.
func otherAddresses(spec *api.Pod) []string {
	var out []string
	for _, p := range spec.Status.PodIPs {
		if ip, err := netip.ParseAddr(p.IP); err == nil && p.IP != spec.Status.PodIP {
			out = append(out, ip.String())
		}
	}
	return out
}

// meshOf is the mesh that a pod was injected for. What was injected stands in the spec of
// the pod, which nobody can change (spec/kubernetes.md 7.1).
// MeshOf is the mesh that a Pod was injected for, which cannot be edited later: empty where
// it has no sidecar, or none that could be a dataplane (spec/kubernetes.md 7.1).
func MeshOf(pod *api.Object) string {
	spec := podSpec(pod)
	if spec.Container(api.SidecarContainer) == nil || spec.Spec.HostNetwork {
		return ""
	}
	return meshOf(spec)
}

func meshOf(spec *api.Pod) string {
	return cmp.Or(spec.Container(api.SidecarContainer).Variable(variableMesh), api.DefaultMesh)
}

// Notes are about the fields of a pod, as Kubernetes writes their paths.
func onPod(pod *api.Object, severity api.Severity, code string, field api.Path, message string) api.Note {
	return api.Note{Origin: &api.Origin{Ref: pod.Ref}, Severity: severity, Code: code, Field: field, Message: message}
}

func annotationPath(name string) api.Path { return "metadata.annotations[" + api.Path(name) + "]" }

// podSpec is the spec of a Pod document.
func podSpec(pod *api.Object) *api.Pod {
	spec, ok := pod.Spec.(*api.Pod)
	if !ok {
		return &api.Pod{}
	}
	return spec
}

// sorted is a list of objects by name.
func sorted(list []*api.Object) []*api.Object {
	return slices.SortedFunc(slices.Values(list), func(a, b *api.Object) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), a.Ref.Compare(b.Ref))
	})
}
