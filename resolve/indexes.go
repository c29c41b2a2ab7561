package resolve

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// anyTarget stands for what is chosen by labels rather than by a name; no service
// has this name.
const anyTarget = "\x01"

// targetName is in which bucket a ref to a destination is. Whatever ref the
// matcher accepts for a destination must be in a bucket of one of its names, or
// in that of anyTarget, else nobody would find it.
func targetName(ref api.TargetRef) string {
	if ref.Name == "" {
		return anyTarget
	}
	return ref.Name
}

// routeTarget is the same for a ref to a route object.
func routeTarget(ref api.TargetRef) string {
	if ref.Name == "" {
		return anyOf(ref.Kind)
	}
	return ref.Kind + "/" + ref.Name
}

// anyOf stands for all objects of a kind.
func anyOf(kind string) string { return kind + "/" + anyTarget }

// pair is one label or tag.
func pair(k, v string) string { return k + "\x02" + strings.ReplaceAll(v, "\x00", "") }

func (c *indexStage) addIndexes() {
	c.indexPolicies()
	c.indexRoutes()
	c.servicesByTarget = c.services.Index(func(_ string, s *service, add func(string)) {
		target := ""
		switch spec := s.object.Spec.(type) {
		case *api.MeshService:
			target = gatherTarget(spec.Selector)
		case *api.Service:
			target = firstPair(spec.Selector, "")
		}
		if target != "" {
			add(target)
		}
	})
	c.servicesByID = c.services.Index(func(_ string, s *service, add func(string)) {
		for _, d := range s.dests {
			add(d.ID)
		}
	})
	c.dataplanesByLabel = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) { carried(p, add) })
	c.dataplanesByAddress = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) {
		for i := range p.spec.Networking.Inbound {
			add(answersAt(p, &p.spec.Networking.Inbound[i]))
		}
	})
	c.dataplanesListing = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) { p.listed(add) })
	c.dataplanesByClassic = c.dataplanes.Index(func(_ string, p *dataplane, add func(string)) {
		for i := range p.spec.Networking.Inbound {
			if n := p.spec.Networking.Inbound[i].Tags[api.TagService]; n != "" && !p.facts.Gateway && p.object.From == nil { // that of a pod means its Service
				add(classicID(n))
			}
		}
	})
}

// listed adds the ids of those kuma.io/services that a dataplane names as what it calls, which may be
// there without anybody who answers for them.
func (p *dataplane) listed(add func(string)) {
	for i := range p.spec.Networking.Outbound {
		if o := &p.spec.Networking.Outbound[i]; o.BackendRef == nil && o.Tags[api.TagService] != "" {
			add(classicID(o.Tags[api.TagService]))
		}
	}
}

// answersAt is by which address an inbound is found.
func answersAt(p *dataplane, in *api.Inbound) string {
	return joinedAddress(cmp.Or(in.Address, p.spec.Networking.Address), in.Port)
}

func (c *indexStage) indexPolicies() {
	c.policiesByKind = c.policies.Index(func(_ string, p *policy, add func(string)) { add(p.object.Kind) })
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
		if len(p.inbound) > 0 && p.topRoute == nil {
			add(selectorTarget(p))
		}
	})
}

func (c *indexStage) indexRoutes() {
	c.routesByName = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		add(routeTarget(api.TargetRef{Kind: r.object.Kind, Name: r.object.Name}))
		add(routeTarget(api.TargetRef{Kind: r.object.Kind, Name: r.object.DisplayName()}))
		add(anyOf(r.object.Kind))
	})
	c.routesByTarget = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for i := range r.opinion.Entries {
			add(targetName(r.opinion.Entries[i].To))
		}
	})
	c.routesByHost = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for d := range hostsOf(r, "") {
			for _, scope := range r.scopesOf(d.Name) {
				add(inScope(d.ID, scope))
			}
		}
	})
	c.routesByAddress = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for ref := range addressesOf(r) {
			add(addressID(ref.Target.Name))
		}
	})
	c.routesByEdges = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		if e := r.opinion.Edges; e != (api.Edges{}) {
			add(pair(e.Label, e.Value))
		}
	})
	c.routesByRead = c.routes.Index(func(_ string, r *routeObject, add func(string)) {
		for _, target := range r.reads {
			add(target)
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
	return firstPair(want, anyTarget)
}

// What a dataplane is stands among its labels; no label has these keys.
const (
	ownName      = "\x03name"
	ownNamespace = "\x03namespace"
	ownType      = "\x03type"
	gateway      = "Gateway"
)

// gatherTarget is the one label or tag by which the dataplanes that a selector
// selects are found: each carries it. It is empty where there is no selector.
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
	return firstPair(want, "")
}

// firstPair is one of the labels or tags that are wanted; none if there are none.
func firstPair(want map[string]string, none string) string {
	if len(want) == 0 {
		return none
	}
	k := slices.Min(slices.Collect(maps.Keys(want)))
	return pair(k, want[k])
}

// carried adds every label and tag of a dataplane, and its names.
func carried(p *dataplane, add func(string)) {
	add(pair(ownName, p.object.Name))
	add(pair(ownName, p.facts.Display()))
	add(pair(ownNamespace, p.facts.Namespace))
	if p.facts.Gateway {
		add(pair(ownType, gateway))
	}
	for k, v := range p.facts.Labels.All() {
		add(pair(k, v))
	}
	for _, tags := range p.facts.Tags {
		for k, v := range tags {
			add(pair(k, v))
		}
	}
}
