package plan

import (
	"maps"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
)

// WithShadow is the step from what holds to what would hold if the policies and routes of a
// mesh that only take part in previews (label kuma.io/effect: shadow) took part as others do.
// Nothing of m changes; of a mesh without any the step is none, to m itself.
func WithShadow(m *resolve.Reader, mesh string) Step {
	written := m.Written()
	s := Step{Before: m.Model, After: m.Model}
	var changes []api.Change
	for o := range m.Attachable(mesh) {
		before, ok := written.Get(o.Ref)
		if !ok || !before.Shadow() {
			continue
		}
		after := *before
		after.Labels = maps.Clone(before.Labels)
		delete(after.Labels, api.LabelEffect)
		changes = append(changes, api.Change{Before: before, After: &after})
		s.Touched = append(s.Touched, o.Ref)
	}
	if len(changes) == 0 {
		return s
	}
	next, affected := m.Update(written.With(written.Revision()+1, changes), changes)
	s.After, s.Affected = next, affected.Dataplanes
	return s
}
