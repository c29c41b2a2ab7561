package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects, whatever they call, sorted.
func (q *Reader) Selected(ref api.Ref) []api.Ref {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	var refs []api.Ref // some twice
	if p := x.policy(ref); p != nil && x.judges(p) {
		for at := range x.placesJudged(p) {
			refs = append(refs, need(x.dataplanes, x.at, at.plane).object.Ref)
		}
	} else {
		for _, s := range x.selectorsOf(ref) {
			for p := range x.selecting(s) {
				refs = append(refs, p.object.Ref)
			}
		}
	}
	if !slices.IsSortedFunc(refs, api.Ref.Compare) {
		slices.SortFunc(refs, api.Ref.Compare)
	}
	return slices.Compact(refs)
}

// selectorsOf are those of a policy or route of which one must select a dataplane.
func (m mesh) selectorsOf(ref api.Ref) []*matcher.Selector {
	if r := m.route(ref); r != nil {
		return []*matcher.Selector{r.selector}
	}
	if p := m.policy(ref); p != nil {
		return m.policySelectors(p)
	}
	return nil
}

func (m mesh) policySelectors(p *policy) []*matcher.Selector {
	if p.topRoute == nil {
		return []*matcher.Selector{p.selector}
	}
	var out []*matcher.Selector
	for r := range m.selectedRoutes(p.topRoute, p.object.Home()) {
		out = append(out, r.selector)
	}
	return out
}

func anySelects(selectors []*matcher.Selector, p *dataplane) bool {
	return slices.ContainsFunc(selectors, func(s *matcher.Selector) bool { return s.Selects(&p.facts) })
}

// SelectsAny reports whether the top-level targetRef of a policy or route selects
// a dataplane.
func (q *Reader) SelectsAny(ref api.Ref) bool {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return false
	}
	if p := x.policy(ref); p != nil && x.judges(p) {
		for range x.placesJudged(p) {
			return true
		}
		return false
	}
	return x.selects(x.selectorsOf(ref)...)
}

// RoutesOf are the routes that a policy's top-level targetRef, or else its items,
// name; each once.
func (q *Reader) RoutesOf(ref api.Ref) []*route.Opinion {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p := x.policy(ref)
	if p == nil {
		return nil
	}
	var out []*route.Opinion
	for _, it := range slices.Concat(p.items, p.inbound) {
		if at := it.routeRef(); at != nil {
			for r := range x.selectedRoutes(at, p.object.Home()) {
				if !slices.Contains(out, r.opinion) {
					out = append(out, r.opinion)
				}
			}
		}
	}
	return out
}
