package world

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
)

// injection is that of worlds without a cluster: nobody starts what it makes.
var injection = inject.Default("")

// WithSidecars are objects in which the Pods that are to have one have a sidecar, as a
// cluster's webhook would have made them (spec/kubernetes.md 2.13), by the Namespaces among
// them and those that there are. What is wrong with a Pod leaves it without.
func WithSidecars(there *api.Snapshot, objects []*api.Object) ([]*api.Object, []*api.Violation) {
	if !slices.ContainsFunc(objects, func(o *api.Object) bool { return o.Kind == api.KindPod }) {
		return objects, nil
	}
	spaces := map[string]*api.Object{}
	for o := range there.OfKind(api.KindNamespace) {
		spaces[o.Name] = o
	}
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
			out[i], said = documents.Pod(o, spaces[o.Namespace], injection)
			found = append(found, said...)
		}
	}
	return out, found
}
