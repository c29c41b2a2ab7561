package world

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sidecar/inject"
	"github.com/weftmesh/weft/sidecar/inject/documents"
	"github.com/weftmesh/weft/store"
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

// Injected are writes with Pods as WithSidecars makes them, and what is wrong with any: no
// webhook stands before a store without a cluster.
func Injected(now *api.Snapshot, writes []store.Write) ([]store.Write, []*api.Violation) {
	if !slices.ContainsFunc(writes, func(w store.Write) bool { return w.Put != nil && w.Put.Kind == api.KindPod }) {
		return writes, nil
	}
	var objects []*api.Object
	var at []int
	for i, w := range writes {
		if w.Put != nil {
			objects, at = append(objects, w.Put), append(at, i)
		}
	}
	made, found := WithSidecars(now, objects)
	out := slices.Clone(writes)
	for i, o := range made {
		out[at[i]].Put = o
	}
	return out, found
}
