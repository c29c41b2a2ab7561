package resolve

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
)

func (c *collections) addObjects() {
	add := func(name string) *derive.Collection[api.Object] {
		return derive.Source(c.schema, name, derive.Values[api.Object]{})
	}
	c.meshObjects, c.policyObjects, c.routeObjects = add("meshes"), add("policies"), add("routes")
	c.serviceObjects, c.planeObjects, c.otherObjects = add("services"), add("dataplanes"), add("others")
}

// read derives what each document means.
func read[T any](c *collections, name string, from *derive.Collection[api.Object], f func(o *api.Object) *T) *derive.Collection[T] {
	return derive.Derive(c.schema, name, from, derive.Values[T]{}, func(r *derive.Reader, key string) *T {
		o, _ := from.Get(r, key)
		return f(o)
	})
}

func (c *collections) addFacts() {
	c.modes = derive.Derive(c.schema, "modes", c.meshObjects, derive.Values[string]{Equal: func(a, b *string) bool { return *a == *b }},
		func(r *derive.Reader, key string) *string {
			o, _ := c.meshObjects.Get(r, key)
			mode := modeSaid(o)
			return &mode
		})
	c.policies = read(c, "policies read", c.policyObjects, func(o *api.Object) *policy {
		i := slices.IndexFunc(c.kinds, func(k *policies.Kind) bool { return k.Name == o.Kind })
		if i < 0 || o.Shadow() {
			return nil
		}
		return newPolicy(o, o.Spec.(*policies.Spec), i)
	})
	c.routes = derive.Derive(c.schema, "routes read", c.routeObjects, derive.Values[routeObject]{}, func(r *derive.Reader, key string) *routeObject {
		o, _ := c.routeObjects.Get(r, key)
		d, place := kindOf(c.dialects, o.Kind)
		return newRouteObject(o, place, d, c.zone, seeing{c, r})
	})
	c.services = read(c, "services read", c.serviceObjects, func(o *api.Object) *service { return newService(o, c.zone) })
	c.dataplanes = read(c, "dataplanes read", c.planeObjects, func(o *api.Object) *dataplane { return newDataplane(o, c.zone) })
	c.addIndexes()
}

func modeSaid(o *api.Object) string {
	if spec, ok := o.Spec.(*api.Mesh); ok && spec.MeshServices != nil && spec.MeshServices.Mode != "" {
		return spec.MeshServices.Mode
	}
	return disabled
}

func (c *collections) addIndexes() {
	c.policiesByRoute = c.policies.Index(func(_ string, p *policy, add func(string)) {
		for _, it := range p.items {
			if ref := it.routeRef(); ref != nil {
				add(routeTarget(*ref))
			}
		}
	})
	c.policiesByTarget = c.policies.Index(func(_ string, p *policy, add func(string)) {
		for _, it := range p.items {
			if it.routeRef() == nil {
				add(targetName(it.target))
			}
		}
	})
	c.policiesBySelector = c.policies.Index(func(_ string, p *policy, add func(string)) {
		if len(p.inbound) > 0 {
			add(selectorTarget(p))
		}
	})
	c.routesByName = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		add(routeTarget(api.TargetRef{Kind: r.object.Kind, Name: r.object.Name}))
		add(routeTarget(api.TargetRef{Kind: r.object.Kind, Name: r.object.DisplayName()}))
		add(routeTarget(api.TargetRef{Kind: r.object.Kind}))
	})
	c.routesByTarget = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for i := range r.opinion.Entries {
			add(targetName(r.opinion.Entries[i].To))
		}
	})
	c.routesByHost = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for d := range hostsOf(r) {
			add(d.ID)
		}
	})
	c.servicesByID = c.services.Index(func(_ string, s *service, add func(string)) {
		for _, d := range s.dests {
			add(d.ID)
		}
	})
	c.dataplanesByLabel = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) {
		for _, l := range carried(p) {
			add(l)
		}
	})
	c.dataplanesByClassic = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) {
		for i := range p.spec.Networking.Inbound {
			if n := p.spec.Networking.Inbound[i].Tags[api.TagService]; n != "" && !p.facts.Gateway {
				add(classicID(n))
			}
		}
	})
}

// selectorTarget is one label or tag that every dataplane carries which a policy
// with an inbound side selects; anyTarget where there is none.
func selectorTarget(p *policy) string {
	top := p.object.Spec.(*policies.Spec).Top()
	want := top.Tags
	switch top.Kind {
	case api.KindDataplane:
		if top.Name != "" {
			return pair(ownName, top.Name)
		}
		want = top.Labels
	case api.KindMeshService, api.KindMeshServiceSubset:
		return pair(api.TagService, top.Name)
	case api.KindMeshSubset:
	default:
		return anyTarget
	}
	if len(want) == 0 {
		return anyTarget
	}
	k := slices.Min(slices.Collect(maps.Keys(want)))
	return pair(k, want[k])
}
