package resolve

import (
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/derive"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route"
)

// Policies about who may call that are attached to routes are carried out where requests
// arrive, on what arrives, by whatever way (spec/identity.md 4.5): an inbound to which a rule
// with such a policy leads tells requests apart as the rules of its frontend do.

// judging is the routes to which a policy about who may call is attached, by objectKey.
type judging struct{ routes []string }

// judgedRoute is a route with such policies, and the destinations that its rules are for, be
// it that others include it.
type judgedRoute struct {
	policies []*index.Policy // in the order of their refs
	dests    []string
}

// judgedFrontend is the rules of a destination that forward, in their order, as their requests
// arrive, where such a policy is attached to one of them.
type judgedFrontend struct{ rows []*judgedRow }

// judgedRow is one row of them.
type judgedRow struct {
	match    route.Match // of what arrives
	rules    []*api.Origin
	attached []judgedBy // by layer and policy
	// closed says why nobody gets in by it; empty where the policies say who does. Where nothing
	// is attached it says why what arrives by it cannot be told.
	closed string
	// plain says that match is what the rule asks of requests as they are sent; changed is what is
	// another thing when they arrive.
	plain   bool
	changed route.Changed
	// apart says that the row is of other tables than the rest, so that none before it keeps requests
	// from it.
	apart bool
	to    []judgedTarget
}

// judgedBy is a policy at the layer at which it is attached.
type judgedBy struct {
	layer  merge.LayerName
	policy *index.Policy
}

// judgedTarget is who answers for a backend: all of a destination, or those with the tags.
type judgedTarget struct {
	id   string
	tags map[string]string
}

// judgedPlaces are the inbounds that rules with policies lead to, as far as one of them has a say
// there; and of policies without a say where they lead to.
type judgedPlaces struct {
	list     []judgedPlace
	by       []*judgedWay // of each of list; none where a bug keeps the rules from being known
	services []string     // of those, as judgedService says; sorted
	foreign  []foreignPlace
}

// foreignPlace is the first dataplane of another namespace that rules with a policy lead to.
type foreignPlace struct {
	policy *index.Policy
	plane  api.Ref
}

type judgedPlace struct {
	plane, at string // objectKey of the dataplane, joinedAddress of the inbound
}

// addJudged derives what inbounds make of policies that are attached to routes. Without such a policy there
// is nothing to look at.
func (c *authorizationStage) addJudged() {
	c.guardKind = slices.IndexFunc(c.below.Kinds, func(k *policies.Kind) bool { return k.Collect != nil && k.RulesOnRoutes })
	c.judging = derive.Derive(c.below.Schema, "routes judged", c.below.Policies, derive.Values[judging]{
		Equal: func(a, b *judging) bool { return slices.Equal(a.routes, b.routes) },
	}, func(r *derive.Reader, key string) *judging {
		return c.derived(r).judgingOf(index.Need(c.below.Policies, r, key))
	})
	c.byJudgedRoute = c.judging.Index(func(_ string, j *judging, add func(string)) {
		for _, key := range j.routes {
			add(key)
		}
	})
	c.judgedRoutes = derive.Derive(c.below.Schema, "policies on routes judged", c.byJudgedRoute, derive.Values[judgedRoute]{
		Equal: func(a, b *judgedRoute) bool {
			return slices.Equal(a.policies, b.policies) && slices.Equal(a.dests, b.dests)
		},
	}, func(r *derive.Reader, key string) *judgedRoute { return c.derived(r).judgedRouteOf(key) })
	c.byJudgedDest = c.judgedRoutes.Group(func(_ string, j *judgedRoute, add func(string)) {
		for _, id := range j.dests {
			add(id)
		}
	})
	c.judgedFrontends = derive.Derive(c.below.Schema, "frontends judged", c.byJudgedDest, derive.Values[judgedFrontend]{Equal: (*judgedFrontend).equal},
		func(r *derive.Reader, id string) *judgedFrontend { return c.derived(r).judgedFrontendOf(id) })
	c.judgedPlaces = derive.Derive(c.below.Schema, "inbounds of frontends judged", c.byJudgedDest, derive.Values[judgedPlaces]{
		Equal: func(a, b *judgedPlaces) bool {
			return slices.Equal(a.list, b.list) && slices.EqualFunc(a.by, b.by, (*judgedWay).equal) && slices.Equal(a.services, b.services) && slices.Equal(a.foreign, b.foreign)
		},
	}, func(r *derive.Reader, id string) *judgedPlaces {
		return c.derived(r).judgedPlacesOf(id)
	})
	c.byJudgedPlane = c.judgedPlaces.Index(func(_ string, p *judgedPlaces, add func(string)) {
		for _, x := range p.list {
			add(x.plane)
		}
	})
	c.byJudgedService = c.judgedPlaces.Index(func(_ string, p *judgedPlaces, add func(string)) {
		for _, name := range p.services {
			add(name)
		}
	})
	c.judgedPlanes = derive.Derive(c.below.Schema, "inbounds judged", c.byJudgedPlane, derive.Values[judgedPlane]{Equal: (*judgedPlane).equal},
		func(r *derive.Reader, key string) *judgedPlane { return c.derived(r).judgedPlaneOf(key) })
	byRuleSet := c.judgedPlanes.Group(func(_ string, p *judgedPlane, add func(string)) {
		for _, in := range p.inbounds {
			for _, at := range in {
				if at.set != "" {
					add(at.set)
				}
			}
		}
	})
	c.togetherAtRules = derive.Derive(c.below.Schema, "what adds up at rules", byRuleSet, derive.Values[saidTogether]{Equal: (*saidTogether).equal},
		func(r *derive.Reader, key string) *saidTogether { return c.derived(r).togetherOf(key) })
}

// judges reports whether it is a policy about who may call that is attached to routes.
func (m authorizationMesh) judges(p *index.Policy) bool {
	return p.TopRoute != nil && p.Kind == m.guardKind
}

func (m authorizationMesh) judgingOf(p *index.Policy) *judging {
	if !m.judges(p) {
		return nil
	}
	out := &judging{}
	for r := range m.SelectedRoutes(p.TopRoute, p.Object.Home()) {
		if p.TopRoute.SectionName == "" || r.Known[p.TopRoute.SectionName] {
			out.routes = append(out.routes, index.ObjectKey(r.Object.Ref))
		}
	}
	slices.Sort(out.routes)
	return out
}

func (m authorizationMesh) judgedRouteOf(key string) *judgedRoute {
	own := index.Need(m.Routes, m.At, key)
	out, dests := &judgedRoute{}, map[string]bool{}
	for of := range m.byJudgedRoute.In(m.At, key) {
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
	out.dests = sortedKeys(dests)
	return out
}

// judgedPlacesOf are the inbounds of all who answer for what rules with policies lead to: of those
// too that are not ready yet, so that nobody who gets ready is open before. Where a bug keeps the
// rules from being known, they are those of the destination, and fail with it: they are not open
// meanwhile to those whom a rule keeps out.
func (m authorizationMesh) judgedPlacesOf(id string) *judgedPlaces {
	f, failed := m.judgedFrontends.Get(m.At, id)
	seen := placesSeen{map[judgedPlace]bool{}, map[string]bool{}, map[*index.Policy]api.Ref{}}
	switch {
	case failed != nil:
		m.behind(judgedTarget{id: id}, seen.add)
	case f == nil:
		return nil
	default:
		for _, row := range f.rows {
			for _, to := range row.to {
				if len(row.attached) > 0 {
					m.behind(to, func(p *index.Dataplane, at string) { seen.addBy(row.attached, p, at) })
				}
			}
		}
	}
	out := seen.places()
	if failed == nil {
		m.waysTo(f, out)
	}
	return out
}

// behind yields the inbounds of all who answer for a target.
func (m authorizationMesh) behind(to judgedTarget, yield func(p *index.Dataplane, at string)) {
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

// placesSeen gathers judgedPlaces.
type placesSeen struct {
	list     map[judgedPlace]bool
	services map[string]bool
	foreign  map[*index.Policy]api.Ref
}

func (s *placesSeen) add(p *index.Dataplane, at string) {
	s.list[judgedPlace{index.ObjectKey(p.Object.Ref), at}] = true
	s.services[judgedService(p)] = true
}

// addBy adds a place as far as one of the policies has a say there.
func (s *placesSeen) addBy(attached []judgedBy, p *index.Dataplane, at string) {
	for _, by := range attached {
		if by.policy.JudgesAt(p) {
			s.add(p, at)
		} else if first, ok := s.foreign[by.policy]; !ok || p.Object.Ref.Compare(first) < 0 {
			s.foreign[by.policy] = p.Object.Ref
		}
	}
}

func (s *placesSeen) places() *judgedPlaces {
	out := &judgedPlaces{services: sortedKeys(s.services)}
	out.list = slices.SortedFunc(maps.Keys(s.list), func(a, b judgedPlace) int { return strings.Compare(a.plane+"\x00"+a.at, b.plane+"\x00"+b.at) })
	for p, plane := range s.foreign {
		out.foreign = append(out.foreign, foreignPlace{p, plane})
	}
	slices.SortFunc(out.foreign, func(a, b foreignPlace) int { return a.policy.Object.Ref.Compare(b.policy.Object.Ref) })
	return out
}

// judgedService is what dataplanes have in common to which the same rules lead, as a rule: the service
// of the first inbound. Most have nothing to do with such rules, and so a note for each service is
// enough to tell them when they do. A dataplane without a service is its own.
func judgedService(p *index.Dataplane) string {
	if in := p.Spec.Networking.Inbound; len(in) > 0 && in[0].Tags[api.TagService] != "" {
		return in[0].Tags[api.TagService]
	}
	return index.ObjectKey(p.Object.Ref)
}

func (f *judgedFrontend) equal(o *judgedFrontend) bool {
	return slices.EqualFunc(f.rows, o.rows, (*judgedRow).equal)
}

func (r *judgedRow) equal(o *judgedRow) bool {
	return r == o || r.closed == o.closed && r.plain == o.plain && r.apart == o.apart && slices.Equal(r.attached, o.attached) && r.changed.Equal(&o.changed) &&
		slices.EqualFunc(r.match.Conditions, o.match.Conditions, route.Condition.Equal) && derive.Same(r.rules, o.rules) && derive.Same(r.to, o.to)
}
