package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
)

// Use is how far a policy or route reaches.
type Use struct {
	// Selected are the dataplanes that the top-level targetRef selects, Effective
	// those of them where at least one value or rule of the object takes part.
	Selected, Effective []api.Ref
}

// UseOf tells where a policy or route takes part. It walks the mesh: it is for
// questions of people, not for hot paths.
func (m *Model) UseOf(ref api.Ref) Use {
	use := Use{Selected: m.Selected(ref)}
	if x, ok := m.meshes.Get([]byte(ref.Mesh)); ok && len(use.Selected) > 0 {
		for _, p := range collect(x.planes.Root().Iterator()) {
			if p.resolved.names(ref) {
				use.Effective = append(use.Effective, p.resolved.Ref)
			}
		}
	}
	return use
}

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects. It is UseOf without asking where the object takes part, and looks at
// the dataplanes once for all objects that select alike. Nobody may change it.
func (m *Model) Selected(ref api.Ref) []api.Ref {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil
	}
	o, _ := x.objects.Get([]byte(objectKey(ref)))
	return x.selectedBy(selectorsOf(x, o))
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

// names reports whether a value or rule of the object takes part in r.
func (r *Resolved) names(ref api.Ref) bool {
	for _, o := range r.Outbounds {
		if o.Policies.name(ref) {
			return true
		}
		if o.Table == nil {
			continue
		}
		for _, route := range o.Table.Routes {
			if route.Policies.name(ref) || slices.ContainsFunc(route.Origins, func(x *api.Origin) bool { return x.Ref == ref }) {
				return true
			}
		}
	}
	return slices.ContainsFunc(r.Inbounds, func(in *Inbound) bool { return in.Policies.name(ref) }) ||
		slices.ContainsFunc(r.Clusters, func(c ClusterUse) bool { return c.Policies.name(ref) })
}

func (p Policies) name(ref api.Ref) bool {
	return slices.ContainsFunc(p, func(e *policies.Effective) bool {
		for _, f := range e.Fields {
			for _, s := range f.Said {
				if s.Origin.Ref == ref {
					return true
				}
			}
		}
		return false
	})
}
