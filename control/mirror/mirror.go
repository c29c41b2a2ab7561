// Package mirror writes the Dataplanes that weft derives of pods to the cluster, for tools that
// look for them there (spec/kubernetes.md 2, --write-dataplanes).
//
// It promises what control/owned does. weft itself never reads what is written here
// (store/kube), so that a mirror which is late, or which nobody keeps any more, misleads no
// sidecar.
package mirror

import (
	"iter"
	"maps"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/owned"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// Maker makes the mirrors.
type Maker struct {
	Store   store.Store
	Catalog *api.Catalog
	// Model is what holds; nil while nothing was resolved.
	Model func() *resolve.Model
}

// Resolved is the revision of the store that the Model is of.
func (m *Maker) Resolved() uint64 {
	if model := m.Model(); model != nil {
		return model.Written().Revision()
	}
	return 0
}

// Touches implements [owned.Maker]. What else the Dataplane of a pod follows from, such as its
// Services, is found by the look at all.
func (*Maker) Touches(ref api.Ref) (one, all bool) {
	return ref.Kind == api.KindPod || ref.Kind == api.KindDataplane, ref.Kind == api.KindNamespace
}

// See implements [owned.Maker].
func (m *Maker) See() owned.View {
	v := &view{catalog: m.Catalog, now: m.Store.Snapshot()}
	if model := m.Model(); model != nil {
		v.resolved = model.Snapshot()
	}
	return v
}

// view is the cluster at one moment.
type view struct {
	catalog  *api.Catalog
	now      *snapshot.Snapshot
	resolved *snapshot.Snapshot // nil while nothing was
}

// Names implements [owned.View].
func (v *view) Names() iter.Seq[owned.Key] {
	return func(yield func(owned.Key) bool) {
		if v.resolved == nil {
			return
		}
		for o := range v.resolved.OfKind(api.KindDataplane) {
			if ofPod(o) && !yield(owned.Key{Namespace: o.Namespace, Name: o.Name}) {
				return
			}
		}
	}
}

// Wanted implements [owned.View]: the Dataplane as the API shows it, and whose it is.
func (v *view) Wanted(n owned.Key) *owned.Object {
	if v.resolved == nil {
		return nil
	}
	o := world.In(v.resolved, api.Ref{Kind: api.KindDataplane, Namespace: n.Namespace, Name: n.Name})
	if o == nil || !ofPod(o) {
		return nil
	}
	pod, there := v.now.Get(*o.From)
	if !there || pod.UID() == "" {
		return nil
	}
	out := &api.Object{Ref: o.Ref, Labels: maps.Clone(o.Labels), Spec: o.Spec}
	if out.Labels == nil {
		out.Labels = map[string]string{}
	}
	out.Labels[api.LabelMesh] = o.Mesh
	maps.Copy(out.Labels, v.catalog.ShownLabels(out))
	out.Labels[api.LabelManagedBy] = api.ManagedByController
	return &owned.Object{Object: out, Owner: pod}
}

// ofPod reports whether a Dataplane is one that weft derives of a pod.
func ofPod(o *api.Object) bool { return o.From != nil && o.From.Kind == api.KindPod }
