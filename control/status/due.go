package status

import (
	"maps"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// current reports whether the model knows what the object says at the API server now. Its
// version there is newer where only its status, or another's field, was written since; its
// generation too where somebody wrote the same in other words, which the model is not told.
func (r *Reporter) current(m *resolve.Model, ref api.Ref) bool {
	o, ok := m.Snapshot().Get(ref)
	now, there := r.Store.Snapshot().Get(ref)
	had, _ := r.Store.Report(ref)
	if !ok || !there || now.ResourceVersion != had.Version {
		return false
	}
	return o.Generation == now.Generation && maps.Equal(o.Labels, now.Labels) || store.SaysNothingNew(snapshot.Change{Before: o, After: now})
}

// due is the write of one object, none where nothing is to be written now.
func (r *Reporter) due(m *resolve.Model, f finding, now time.Time) []*write {
	t, known := r.Catalog.Type(f.ref.Kind)
	served, installed := r.Store.Served(f.ref.Kind)
	had, there := r.Store.Report(f.ref)
	if !known || !t.HasStatus() || !installed || !there || !served.Status && (served.Own || !annotated(t)) {
		return nil
	}
	o, holds := m.Snapshot().Get(f.ref)
	switch {
	case holds && o.From != nil:
		return nil // nobody wrote it
	case had.Refused && f.invalid: // what is said of it does not come from the model
	case holds && !r.current(m, f.ref), had.Refused:
		r.owed = true // the model, or what is said of it, is about to follow
		return nil
	}
	if r.failing.rests(f.ref, now) {
		return nil
	}
	w, err := change(f.ref, f.want, had, t, served.Own, now)
	if err != nil {
		r.Log.Error("a status cannot be written", "object", f.ref.String(), "error", err)
	}
	if w == nil {
		delete(r.failing, f.ref)
		return nil
	}
	pace := Pace
	if !t.Policy && !t.Route && !t.Reported {
		pace = ServicePace
	}
	if last, ok := r.wrote[f.ref]; ok && now.Sub(last.at) < pace {
		r.owed = true
		return nil
	}
	return []*write{w}
}
