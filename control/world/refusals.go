package world

import (
	"slices"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/plan"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// Refusals is what keeps writes of documents, sound by themselves, from being stored over now:
// authorities that cannot sign, and policies that nothing can carry out beside what m knows, nil for
// nothing.
func Refusals(now *api.Snapshot, m *resolve.Model, writes []store.Write, from Sources) []*api.Violation {
	out := Provided(now, writes, from)
	var objects []*api.Object
	for _, w := range writes {
		if mayBeUncarried(w.Put) {
			objects = append(objects, w.Put)
		}
	}
	if len(objects) == 0 || m == nil {
		return out
	}
	if m.Written() != now { // who resolves is behind the store for a moment
		m, _ = m.Update(now, now.Since(m.Written()))
	}
	step, _ := plan.Next(m, slices.Clone(writes), from.Now)
	return append(out, inspect.Uncarried(m.Reader(nil), step.After.Reader(nil), objects)...)
}

// unwritable is what a control plane without other documents refuses of sound ones.
func (s Settings) unwritable(objects []*api.Object, model *resolve.Model) []*api.Violation {
	out := Provided(Snapshot(), puts(objects), Sources{System: s.SystemNamespaces, Now: time.Now()})
	return append(out, inspect.Uncarried(nil, model.Reader(nil), slices.DeleteFunc(slices.Clone(objects), func(o *api.Object) bool { return !mayBeUncarried(o) }))...)
}

// puts are writes of objects.
func puts(objects []*api.Object) []store.Write {
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	return writes
}

// mayBeUncarried reports whether an object is a policy about who may call that is attached to
// routes: what it depends on is not in its document alone.
func mayBeUncarried(o *api.Object) bool {
	if o == nil || o.Kind != trafficpermission.Kind.Name {
		return false
	}
	spec, ok := o.Spec.(*policies.Spec)
	return ok && spec.Top().IsRoute()
}
