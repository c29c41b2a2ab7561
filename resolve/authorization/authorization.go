package authorization

import (
	"cmp"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api/tuple"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Policies about who may call that are attached to routes are carried out where requests
// arrive, on what arrives, by whatever way (spec/identity.md 4.5): an inbound to which a rule
// with such a policy leads tells requests apart as the rules of its frontend do.

// PolicyRoutes is the routes to which a policy about who may call is attached, by ObjectKey.
type PolicyRoutes struct{ Routes []string }

// RoutePolicies is a route with such policies, and the destinations that its rules are for, be
// it that others include it.
type RoutePolicies struct {
	policies []*index.Policy // in the order of their refs
	Dests    []string
}

// DestinationRules is the rules of a destination that forward, in their order, as their requests
// arrive, where such a policy is attached to one of them.
type DestinationRules struct{ Rows []*Row }

// Row is one row of them.
type Row struct {
	match    match.Match // of what arrives
	rules    []*api.Origin
	attached []attachment // by layer and policy
	// Closed says why nobody gets in by it; empty where the policies say who does. Where nothing
	// is attached it says why what arrives by it cannot be told.
	Closed string
	// plain says that match is what the rule asks of requests as they are sent; changed is what is
	// another thing when they arrive.
	plain   bool
	changed route.Changed
	// apart says that the row is of other tables than the rest, so that none before it keeps requests
	// from it.
	apart bool
	to    []target
}

// attachment is a policy at the layer at which it is attached.
type attachment struct {
	layer  merge.LayerName
	policy *index.Policy
}

// target is who answers for a backend: all of a destination, or those with the tags.
type target struct {
	id   string
	tags map[string]string
}

// InboundPlacements are the inbounds that rules with policies lead to, as far as one of them has a say
// there; and of policies without a say where they lead to.
type InboundPlacements struct {
	List     []InboundPlacement
	paths    []*ArrivingRules // of each of list; none where a bug keeps the rules from being known
	services []string         // of those, as serviceOf says; sorted
	Foreign  []ForeignPlacement
}

// ForeignPlacement is the first dataplane of another namespace that rules with a policy lead to.
type ForeignPlacement struct {
	Policy *index.Policy
	Plane  api.Ref
}

// InboundPlacement is one inbound of a dataplane.
type InboundPlacement struct {
	Plane, At string // ObjectKey of the dataplane, index.JoinedAddress of the inbound
}

// addRouteAuthorization derives what inbounds make of policies that are attached to routes. Without such a policy there
// is nothing to look at.
func (c *Stage) addRouteAuthorization() {
	c.PolicyRoutes = derive.Derive(c.below.Schema, "routes of authorization policies", c.below.Policies, derive.Values[PolicyRoutes]{
		Equal: func(a, b *PolicyRoutes) bool { return slices.Equal(a.Routes, b.Routes) },
	}, func(r *derive.Reader, key string) *PolicyRoutes {
		return c.Mesh(r).policyRoutesOf(index.Need(c.below.Policies, r, key))
	})
	c.byRoute = c.PolicyRoutes.Index(func(_ string, j *PolicyRoutes, add func(string)) {
		for _, key := range j.Routes {
			add(key)
		}
	})
	c.RoutePolicies = derive.Derive(c.below.Schema, "authorization policies of routes", c.byRoute, derive.Values[RoutePolicies]{
		Equal: func(a, b *RoutePolicies) bool {
			return slices.Equal(a.policies, b.policies) && slices.Equal(a.Dests, b.Dests)
		},
	}, func(r *derive.Reader, key string) *RoutePolicies { return c.Mesh(r).routePoliciesOf(key) })
	c.byDestination = c.RoutePolicies.Group(func(_ string, j *RoutePolicies, add func(string)) {
		for _, id := range j.Dests {
			add(id)
		}
	})
	c.Frontends = derive.Derive(c.below.Schema, "route authorization of destinations", c.byDestination, derive.Values[DestinationRules]{Equal: (*DestinationRules).equal},
		func(r *derive.Reader, id string) *DestinationRules { return c.Mesh(r).frontendOf(id) })
	c.Placements = derive.Derive(c.below.Schema, "inbounds of authorized routes", c.byDestination, derive.Values[InboundPlacements]{
		Equal: func(a, b *InboundPlacements) bool {
			return slices.Equal(a.List, b.List) && slices.EqualFunc(a.paths, b.paths, (*ArrivingRules).equal) && slices.Equal(a.services, b.services) && slices.Equal(a.Foreign, b.Foreign)
		},
	}, func(r *derive.Reader, id string) *InboundPlacements {
		return c.Mesh(r).placementsOf(id)
	})
	c.byDataplane = c.Placements.Index(func(_ string, p *InboundPlacements, add func(string)) {
		for _, x := range p.List {
			add(x.Plane)
		}
	})
	c.byService = c.Placements.Index(func(_ string, p *InboundPlacements, add func(string)) {
		for _, name := range p.services {
			add(name)
		}
	})
	c.dataplaneRules = derive.Derive(c.below.Schema, "route authorization of inbounds", c.byDataplane, derive.Values[dataplaneRules]{Equal: (*dataplaneRules).equal},
		func(r *derive.Reader, key string) *dataplaneRules { return c.Mesh(r).dataplaneRulesOf(key) })
	byRuleSet := c.dataplaneRules.Group(func(_ string, p *dataplaneRules, add func(string)) {
		for _, in := range p.inbounds {
			for _, at := range in {
				for _, set := range at.sets() {
					add(set)
				}
			}
		}
	})
	c.collectedAtRules = derive.Derive(c.below.Schema, "what adds up at rules", byRuleSet, derive.Values[Collected]{Equal: (*Collected).equal},
		func(r *derive.Reader, key string) *Collected { return c.Mesh(r).collectedOf(tuple.Split(key)) })
}

// AuthorizesRoutes reports whether it is a policy about who may call that is attached to routes.
func (m Mesh) AuthorizesRoutes(p *index.Policy) bool {
	return p.TopRoute != nil && m.Kinds[p.Kind].RulesOnRoutes && m.nobody[p.Kind] != nil
}

func (m Mesh) policyRoutesOf(p *index.Policy) *PolicyRoutes {
	if !m.AuthorizesRoutes(p) {
		return nil
	}
	out := &PolicyRoutes{}
	for r := range m.SelectedRoutes(p.TopRoute, p.Object.Home()) {
		if p.TopRoute.SectionName == "" || r.SectionNames[p.TopRoute.SectionName] {
			out.Routes = append(out.Routes, index.ObjectKey(r.Object.Ref))
		}
	}
	slices.Sort(out.Routes)
	return out
}

func (m Mesh) routePoliciesOf(key string) *RoutePolicies {
	own := index.Need(m.Routes, m.At, key)
	out, dests := &RoutePolicies{}, map[string]bool{}
	for of := range m.byRoute.In(m.At, key) {
		out.policies = append(out.policies, index.Need(m.Policies, m.At, of))
	}
	slices.SortFunc(out.policies, func(a, b *index.Policy) int { return a.Object.Ref.Compare(b.Object.Ref) })
	if own == nil {
		return out
	}
	for _, r := range append([]*index.Route{own}, slices.Collect(m.Readers(own.Object.Ref))...) {
		for i := range r.Parsed.Entries {
			e := &r.Parsed.Entries[i]
			for d := range m.DestinationsOf(e) {
				dests[d.Key] = true
			}
		}
	}
	out.Dests = sortedKeys(dests)
	return out
}

// placementsOf are the inbounds of all who answer for what rules with policies lead to: of those
// too that are not ready yet, so that nobody who gets ready is open before. Where a bug keeps the
// rules from being known, they are those of the destination, and fail with it: they are not open
// meanwhile to those whom a rule keeps out.
func (m Mesh) placementsOf(id string) *InboundPlacements {
	f, failed := m.Frontends.Get(m.At, id)
	seen := placesSeen{map[InboundPlacement]bool{}, map[string]bool{}, map[*index.Policy]api.Ref{}}
	switch {
	case failed != nil:
		m.behind(target{id: id}, seen.add)
	case f == nil:
		return nil
	default:
		for _, row := range f.Rows {
			for _, to := range row.to {
				if len(row.attached) > 0 {
					m.behind(to, func(p *index.Dataplane, at string) { seen.addBy(row.attached, p, at) })
				}
			}
		}
	}
	out := seen.places()
	if failed == nil {
		m.pathsTo(f, out)
	}
	return out
}

// behind yields the inbounds of all who answer for a target.
func (m Mesh) behind(to target, yield func(p *index.Dataplane, at string)) {
	d := index.Need(m.Destinations, m.At, to.id)
	if d == nil {
		return
	}
	all := m.MembersOf(d)
	for _, e := range all.Subset(to.tags) {
		if p, _ := m.Dataplanes.Get(m.At, index.ObjectKey(e.Dataplane)); p != nil {
			yield(p, index.JoinedAddress(e.Address, e.Port))
		}
	}
	for _, w := range all.Waiting {
		yield(w.Plane, index.AnswersAt(w.Plane, w.Inbound))
	}
}

// placesSeen gathers InboundPlacements.
type placesSeen struct {
	list     map[InboundPlacement]bool
	services map[string]bool
	foreign  map[*index.Policy]api.Ref
}

func (s *placesSeen) add(p *index.Dataplane, at string) {
	s.list[InboundPlacement{index.ObjectKey(p.Object.Ref), at}] = true
	s.services[serviceOf(p)] = true
}

// addBy adds a place as far as one of the policies has a say there.
func (s *placesSeen) addBy(attached []attachment, p *index.Dataplane, at string) {
	for _, by := range attached {
		if by.policy.AuthorizesAt(p) {
			s.add(p, at)
		} else if first, ok := s.foreign[by.policy]; !ok || p.Object.Ref.Compare(first) < 0 {
			s.foreign[by.policy] = p.Object.Ref
		}
	}
}

func (s *placesSeen) places() *InboundPlacements {
	out := &InboundPlacements{services: sortedKeys(s.services)}
	out.List = slices.SortedFunc(maps.Keys(s.list), func(a, b InboundPlacement) int { return cmp.Or(cmp.Compare(a.Plane, b.Plane), cmp.Compare(a.At, b.At)) })
	for p, plane := range s.foreign {
		out.Foreign = append(out.Foreign, ForeignPlacement{p, plane})
	}
	slices.SortFunc(out.Foreign, func(a, b ForeignPlacement) int { return a.Policy.Object.Ref.Compare(b.Policy.Object.Ref) })
	return out
}

// serviceOf is what dataplanes have in common to which the same rules lead, as a rule: the service
// of the first inbound. Most have nothing to do with such rules, and so a note for each service is
// enough to tell them when they do. A dataplane without a service is its own.
func serviceOf(p *index.Dataplane) string {
	if in := p.Spec.Networking.Inbound; len(in) > 0 && in[0].Tags[api.TagService] != "" {
		return in[0].Tags[api.TagService]
	}
	return index.ObjectKey(p.Object.Ref)
}

func (f *DestinationRules) equal(o *DestinationRules) bool {
	return slices.EqualFunc(f.Rows, o.Rows, (*Row).equal)
}

func (r *Row) equal(o *Row) bool {
	return r == o || r.Closed == o.Closed && r.plain == o.plain && r.apart == o.apart && slices.Equal(r.attached, o.attached) && r.changed.Equal(&o.changed) &&
		slices.EqualFunc(r.match.Conditions, o.match.Conditions, match.Condition.Equal) && derive.Same(r.rules, o.rules) && derive.Same(r.to, o.to)
}

// By reports whether a policy is attached to the row.
func (r *Row) By(p *index.Policy) bool {
	return slices.ContainsFunc(r.attached, func(b attachment) bool { return b.policy == p })
}
