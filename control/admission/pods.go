package admission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

// injection is that of worlds without a cluster: nobody starts what it makes.
var injection = inject.Default("")

// namespaces are the Namespaces of a world, by name.
type namespaces map[string]*api.Object

func spacesOf(there *snapshot.Snapshot) namespaces {
	spaces := namespaces{}
	for o := range there.OfKind(api.KindNamespace) {
		spaces[o.Name] = o
	}
	return spaces
}

// sidecar is a Pod with the sidecar that a cluster's webhook would have put into it, if any
// (spec/kubernetes.md 2.13), and what is wrong with it.
func (s namespaces) sidecar(pod *api.Object) (*api.Object, []*api.Violation) {
	return documents.Pod(pod, s[pod.Namespace], injection)
}

// WithSidecars are objects in which the Pods that are to have one have a sidecar, by the
// Namespaces among them and those that there are. What is wrong with a Pod leaves it without.
func WithSidecars(there *snapshot.Snapshot, objects []*api.Object) ([]*api.Object, []*api.Violation) {
	if !slices.ContainsFunc(objects, func(o *api.Object) bool { return o.Kind == api.KindPod }) {
		return objects, nil
	}
	spaces := spacesOf(there)
	for _, o := range objects {
		if o.Kind == api.KindNamespace {
			spaces[o.Name] = o
		}
	}
	var found []*api.Violation
	out := slices.Clone(objects)
	for i, o := range out {
		if o.Kind == api.KindPod {
			var said []*api.Violation
			out[i], said = spaces.sidecar(o)
			found = append(found, said...)
		}
	}
	return out, found
}
