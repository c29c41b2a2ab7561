package plan

import (
	"maps"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/store"
)

// WithShadow is the step from what holds to what would hold if the policies and routes of a
// mesh that only take part in previews (label kuma.io/effect: shadow) took part as others do.
// Nothing of m changes; of a mesh without any the step is none, to m itself.
func WithShadow(m *resolve.Reader, mesh string) Step {
	return resolve.Known(m, shadowKey{mesh}, func() Step { return withShadow(m, mesh) })
}

type shadowKey struct{ mesh string }

func withShadow(m *resolve.Reader, mesh string) Step {
	written := m.Written()
	s := Step{Before: m.Model, After: m.Model}
	var changes []api.Change
	for o := range m.Attachable(mesh) {
		before, ok := written.Get(o.Ref)
		if !ok || !before.Shadow() {
			continue
		}
		changes = append(changes, api.Change{Before: before, After: unshadowed(before)})
		s.Touched = append(s.Touched, o.Ref)
	}
	if len(changes) == 0 {
		return s
	}
	next, affected := m.Update(written.With(written.Revision()+1, changes), changes)
	s.After, s.Affected = next, affected.Dataplanes
	return s
}

// unshadowed is an object that takes part as others do.
func unshadowed(o *api.Object) *api.Object {
	after := *o
	after.Labels, after.Adjusted = maps.Clone(o.Labels), true
	delete(after.Labels, api.LabelEffect)
	return &after
}

// Unshadowed is plan of writes whose policies and routes that only take part in previews take
// part as others do.
func Unshadowed(plan store.Plan) store.Plan {
	return func(now *api.Snapshot) ([]store.Write, error) {
		writes, err := plan(now)
		if err != nil {
			return nil, err
		}
		out := make([]store.Write, len(writes))
		for i, w := range writes {
			if out[i] = w; w.Put != nil && w.Put.Shadow() {
				out[i].Put = unshadowed(w.Put)
			}
		}
		return out, nil
	}
}
