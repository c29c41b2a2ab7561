package admission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/inspect/plan/step"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// refusals is what keeps writes of documents, sound by themselves, from being stored over now:
// authorities that cannot sign, and policies that nothing can carry out beside what m knows. Where m
// is nil compile makes one of now, where one is needed.
func refusals(now *snapshot.Snapshot, m *resolve.Model, compile func(*snapshot.Snapshot) *resolve.Model, writes []store.Write, from Sources) []*api.Violation {
	out := Provided(now, writes, from)
	var objects []*api.Object
	for _, w := range writes {
		if mayBeUncarried(w.Put) {
			objects = append(objects, w.Put)
		}
	}
	if len(objects) == 0 {
		return out
	}
	switch {
	case m == nil && compile == nil:
		return out
	case m == nil:
		m = compile(now)
	case m.Written() != now: // who resolves is behind the store for a moment
		m, _ = m.Update(now, now.Since(m.Written()))
	}
	next, _ := step.Next(m, slices.Clone(writes), from.Now)
	return append(out, notes.Uncarried(m.Reader(nil), next.After.Reader(nil), objects)...)
}

func noModel() *resolve.Model { return nil }

// Alone is what a control plane without other documents refuses of sound ones, over those that
// it begins with, by the model of all of them.
func Alone(begins *snapshot.Snapshot, objects []*api.Object, model *resolve.Model, from Sources) []*api.Violation {
	out := Provided(begins, Puts(objects), from)
	return append(out, notes.Uncarried(nil, model.Reader(nil), slices.DeleteFunc(slices.Clone(objects), func(o *api.Object) bool { return !mayBeUncarried(o) }))...)
}

// Puts are writes of objects.
func Puts(objects []*api.Object) []store.Write {
	writes := make([]store.Write, len(objects))
	for i, o := range objects {
		writes[i] = store.Write{Put: o}
	}
	return writes
}

// mayBeUncarried reports whether an object is a policy about who may call that is attached to
// routes, for which what it depends on is not in its document alone, or that denies what nobody asks for.
func mayBeUncarried(o *api.Object) bool {
	if o == nil {
		return false
	}
	spec, ok := o.Spec.(*policies.Spec)
	return ok && spec.Kind.Authorizer != nil && (spec.Top().IsRoute() ||
		slices.ContainsFunc(spec.Kind.Authorizer.Void(spec), func(v policies.Void) bool { return v.Protects }))
}
