package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
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
	var use Use
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return use
	}
	o, ok := x.objects.Get([]byte(objectKey(ref)))
	if !ok {
		return use
	}
	for _, p := range collect(x.planes.Root().Iterator()) {
		if selected(x, o, p.plane) {
			use.Selected = append(use.Selected, p.resolved.Ref)
		}
		if p.resolved.names(ref) {
			use.Effective = append(use.Effective, p.resolved.Ref)
		}
	}
	return use
}

func selected(x *mesh, o any, p *dataplane) bool {
	switch o := o.(type) {
	case *routeObject:
		return o.selector.Selects(&p.facts)
	case *policy:
		if o.topRoute == nil {
			return o.selector.Selects(&p.facts)
		}
		for r := range selectedRoutes(x, *o.topRoute, o.object.HomeNamespace()) {
			if r.selector.Selects(&p.facts) {
				return true
			}
		}
	}
	return false
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

// Selected are the dataplanes that the top-level targetRef of a policy or route
// selects. It is UseOf without asking where the object takes part.
func (m *Model) Selected(ref api.Ref) []api.Ref {
	x, ok := m.meshes.Get([]byte(ref.Mesh))
	if !ok {
		return nil
	}
	o, ok := x.objects.Get([]byte(objectKey(ref)))
	if !ok {
		return nil
	}
	var out []api.Ref
	for _, p := range collect(x.planes.Root().Iterator()) {
		if selected(x, o, p.plane) {
			out = append(out, p.resolved.Ref)
		}
	}
	return out
}
