package resolve

import (
	"iter"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
)

// read turns an object into what the mesh keeps of it; nil where it takes no part.
func (u *updater) read(o *api.Object, see route.See) any {
	switch spec := o.Spec.(type) {
	case *api.Dataplane:
		return newDataplane(o, u.mesh.zone)
	case *api.MeshService, *api.MeshExternalService, *api.MeshMultiZoneService:
		return newService(o, u.mesh.zone)
	case *policies.Spec:
		for i, k := range u.kinds {
			if k.Name == o.Kind && !o.Shadow() {
				return newPolicy(o, spec, i)
			}
		}
	}
	if d, place := kindOf(u.dialects, o.Kind); d != nil {
		return newRouteObject(o, place, d, u.mesh.zone, see)
	}
	return bare(o)
}

// bare keeps an object of which only dialects want to know.
func bare(o *api.Object) any {
	if o.Mesh == "" {
		return nil
	}
	return o
}

// objectOf is the object that read turned into x.
func objectOf(x any) *api.Object {
	switch x := x.(type) {
	case *policy:
		return x.object
	case *routeObject:
		return x.object
	case *service:
		return x.object
	case *dataplane:
		return x.object
	}
	return x.(*api.Object)
}

// link is one thing that an object speaks of.
type link struct{ relation, target string }

// linksOf lists what an object that read made speaks of.
func linksOf(x any) []link {
	switch x := x.(type) {
	case *policy:
		return policyLinks(x)
	case *routeObject:
		return routeLinks(x)
	case *service:
		return serviceLinks(x)
	}
	return nil
}

func policyLinks(p *policy) []link {
	var out []link
	if len(p.inbound) > 0 {
		out = append(out, link{limits, anyTarget})
	}
	for _, it := range p.items {
		if ref := it.routeRef(); ref != nil {
			out = append(out, link{attachesTo, routeTarget(*ref)})
			continue
		}
		out = append(out, link{speaksOf, targetName(it.target)})
	}
	return out
}

func routeLinks(r *routeObject) []link {
	out := []link{{named, routeTarget(api.TargetRef{Kind: r.object.Kind, Name: r.object.Name})}, {named, routeTarget(api.TargetRef{Kind: r.object.Kind})}}
	if n := r.object.DisplayName(); n != r.object.Name {
		out = append(out, link{named, routeTarget(api.TargetRef{Kind: r.object.Kind, Name: n})})
	}
	for _, target := range r.reads {
		out = append(out, link{reads, target})
	}
	for _, e := range r.opinion.Entries {
		if e.To.Kind != "" {
			out = append(out, link{routes, targetName(e.To)})
		}
		for _, rule := range e.Rules {
			for _, b := range rule.Backends {
				out = append(out, link{sendsTo, targetName(b.Target)})
			}
			for _, m := range rule.Mirrors {
				out = append(out, link{sendsTo, targetName(m.Target)})
			}
		}
	}
	return out
}

func serviceLinks(s *service) []link {
	switch spec := s.object.Spec.(type) {
	case *api.MeshService:
		return []link{{gathers, gatherTarget(spec.Selector)}}
	case *api.MeshMultiZoneService:
		return []link{{multiZone, anyTarget}}
	}
	return nil
}

// What a dataplane is stands among its labels; no label has these keys.
const (
	ownName      = "\x03name"
	ownNamespace = "\x03namespace"
	ownType      = "\x03type"
	gateway      = "Gateway"
)

// gatherTarget is the one label or tag under which a selector is linked: a
// dataplane that it selects carries it.
func gatherTarget(s *api.ServiceSelector) string {
	if s == nil {
		return ""
	}
	want := s.DataplaneTags
	if s.DataplaneLabels != nil {
		want = s.DataplaneLabels.MatchLabels
	}
	if s.DataplaneRef != nil {
		return pair(ownName, s.DataplaneRef.Name)
	}
	if len(want) == 0 {
		return ""
	}
	k := slices.Min(slices.Collect(maps.Keys(want)))
	return pair(k, want[k])
}

// carried are every label and tag of a dataplane, and its names, as names of the
// roster, sorted.
func carried(p *dataplane) []string {
	out := []string{pair(ownName, p.object.Name), pair(ownName, p.facts.Display()), pair(ownNamespace, p.facts.Namespace)}
	if p.facts.Gateway {
		out = append(out, pair(ownType, gateway))
	}
	for k, v := range p.facts.Labels.All() {
		out = append(out, pair(k, v))
	}
	for _, tags := range p.facts.Tags {
		for k, v := range tags {
			out = append(out, pair(k, v))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selectedRoutes yields the route objects that a ref, written in namespace home, selects.
func selectedRoutes(m *mesh, ref api.TargetRef, home string) iter.Seq[*routeObject] {
	return func(yield func(*routeObject) bool) {
		for key := range m.linked(named, routeTarget(ref)) {
			o, ok := m.objects.Get([]byte(key))
			if !ok {
				continue
			}
			if r, ok := o.(*routeObject); ok && matcher.Route(ref, home, &r.facts) && !yield(r) {
				return
			}
		}
	}
}
