package resolve

import (
	"maps"
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
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	refs := map[api.Ref]bool{}
	for _, s := range selectorsOf(x, o) {
		for p := range x.selecting(s) {
			refs[p.resolved.Ref] = true
		}
	}
	return slices.SortedFunc(maps.Keys(refs), api.Ref.Compare)
}

// selectorsOf are those of an object of which one must select a dataplane.
func selectorsOf(x *mesh, o any) []*matcher.Selector {
	switch o := o.(type) {
	case *routeObject:
		return []*matcher.Selector{o.selector}
	case *policy:
		if o.topRoute == nil {
			return []*matcher.Selector{o.selector}
		}
		var out []*matcher.Selector
		for r := range selectedRoutes(x, *o.topRoute, o.object.HomeNamespace()) {
			out = append(out, r.selector)
		}
		return out
	}
	return nil
}

// selected reports whether the object selects the dataplane.
func selected(x *mesh, o any, p *dataplane) bool {
	return anySelects(selectorsOf(x, o), p)
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
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	return x.selects(selectorsOf(x, o)...)
}

// RoutesOf are the routes that a policy's top-level targetRef, or else its items,
// name; each once.
func (q *Reader) RoutesOf(ref api.Ref) []*route.Opinion {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	p, ok := o.(*policy)
	if !ok {
		return nil
	}
	var out []*route.Opinion
	for _, it := range p.items {
		if at := it.routeRef(); at != nil {
			for r := range selectedRoutes(x, *at, p.object.HomeNamespace()) {
				if !slices.Contains(out, r.opinion) {
					out = append(out, r.opinion)
				}
			}
		}
	}
	return out
}
