// Package conditions is what there is to say on each object: notes, and why one does not apply.
package conditions

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/resolve/dataplanes"
	"github.com/weftmesh/weft/resolve/index"
)

// Mesh is one mesh at which somebody asks what there is to say on its objects.
type Mesh struct {
	dataplanes.Mesh
}

// SelectorsOf are those of a policy or route of which one must select a dataplane.
func (m Mesh) SelectorsOf(ref api.Ref) []*matcher.Selector {
	if r := m.Route(ref); r != nil {
		return []*matcher.Selector{r.Selector}
	}
	if p := m.Policy(ref); p != nil {
		return m.policySelectors(p)
	}
	return nil
}

func (m Mesh) policySelectors(p *index.Policy) []*matcher.Selector {
	if p.TopRoute == nil {
		return []*matcher.Selector{p.Selector}
	}
	var out []*matcher.Selector
	for r := range m.SelectedRoutes(p.TopRoute, p.Object.Home()) {
		out = append(out, r.Selector)
	}
	return out
}
