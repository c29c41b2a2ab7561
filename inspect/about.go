package inspect

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
)

// Brief is e without what policies say at its outbounds, which is most of it: for a list of
// where a dataplane calls.
func (e Explanation) Brief() Explanation {
	e.Outbounds = slices.Clone(e.Outbounds)
	for i := range e.Outbounds {
		o := &e.Outbounds[i]
		o.Policies, o.Routes = map[string]sim.Policy{}, slices.Clone(o.Routes)
		for j := range o.Routes {
			o.Routes[j].Policies = map[string]sim.Policy{}
		}
	}
	return e
}

// About is what e says where one route or policy has a say: rules that come from the route,
// rules, destinations and inbounds at which the policy says something, each with all that
// holds there. Of so many outbounds at most, of all where most is negative: a note says how many there
// are more.
func (e Explanation) About(object api.Ref, most int) Explanation {
	is := func(o *api.Origin) bool {
		return o != nil && o.Kind == object.Kind && (o.FullName() == object.Name || o.Name == object.Name && object.Namespace == o.Namespace)
	}
	speaks := func(all map[string]sim.Policy) bool {
		for _, p := range all {
			for _, said := range p.Why {
				if slices.ContainsFunc(said, func(s sim.Said) bool { return is(s.Origin) }) {
					return true
				}
			}
		}
		return false
	}
	outbounds, inbounds, more := []Outbound{}, []Inbound{}, 0
	for _, o := range e.Outbounds {
		routes := o.Routes
		o.Routes = []Route{}
		for _, r := range routes {
			if slices.ContainsFunc(r.Origins, is) || slices.ContainsFunc(r.Via, is) || speaks(r.Policies) {
				o.Routes = append(o.Routes, r)
			}
		}
		if len(o.Routes) == 0 && (len(routes) > 0 || !speaks(o.Policies)) {
			continue
		}
		if most >= 0 && len(outbounds) == most {
			more++
			continue
		}
		outbounds = append(outbounds, o)
	}
	for _, in := range e.Inbounds {
		if speaks(in.Policies) || slices.ContainsFunc(in.Callers, func(c CallerPolicies) bool { return speaks(c.Policies) }) {
			inbounds = append(inbounds, in)
		}
	}
	e.OutboundsTotal = len(outbounds) + more
	e.Outbounds, e.Inbounds, e.Edges, e.Unmatched, e.UnmatchedTotal = outbounds, inbounds, nil, []Unmatched{}, 0
	e.Notes = slices.DeleteFunc(slices.Clone(e.Notes), func(n api.Note) bool { return !is(n.Origin) })
	if more > 0 {
		e.Notes = append(e.Notes, api.Note{Severity: api.Info, Code: "Cut", Message: fmt.Sprintf("%d more outbounds are not shown; ask about one by to", more)})
	}
	return e
}
