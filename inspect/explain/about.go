package explain

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/notes"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
)

// About is what PartOf says where one route or policy has a say: rules that come from the
// route, rules, destinations and inbounds at which the policy says something, each with all that
// holds there. Part is a page of those outbounds; of most it has no more than that, with a note that
// says how many there are beside them, unless most is negative. What is not shown is not explained.
func About(m *resolve.Reader, dp api.Ref, to string, object api.Ref, part inspect.ListOptions, most int) (Explanation, error) {
	r, chosen, err := chosenOutbounds(m, dp, to, part)
	if err != nil {
		return Explanation{}, err
	}
	x := about{object: object, says: map[*policies.Effective]bool{}}
	chosen = slices.DeleteFunc(slices.Clone(chosen), func(o *effective.Outbound) bool { return !m.Visit() || !x.concerns(r, o) })
	page, more := inspect.Paged(chosen, part), 0
	if most >= 0 && len(page) > most {
		page, more = page[:most], len(page)-most
	}
	var said notes.Collector
	e := explanation(m, r, to, page, false, &said)
	e.note(m, r, &said)
	e.Edges, e.NotApplied, e.OutboundsTotal = nil, []NotApplied{}, len(chosen)
	e.keep(&x)
	if more > 0 {
		e.Notes = append(e.Notes, api.Note{Severity: api.Info, Code: "Cut", Message: fmt.Sprintf("%d more outbounds are not shown; ask about one by to", more)})
	}
	if part.Brief { // what policies say has told what to show
		e = e.Brief()
	}
	return e, nil
}

// about tells where one route or policy has a say.
type about struct {
	object api.Ref
	says   map[*policies.Effective]bool // known ones: many rules share one
}

func (x *about) is(o *api.Origin) bool {
	return o != nil && o.Kind == x.object.Kind && (o.FullName() == x.object.Name || o.Name == x.object.Name && x.object.Namespace == o.Namespace)
}

// concerns reports whether it has a say at an outbound: at a rule, or at the destination where no
// rule is told of. It looks at what the explanation of the outbound is made of.
func (x *about) concerns(r *effective.Resolved, o *effective.Outbound) bool {
	if o.TCP != nil {
		if x.wrote(o.TCP) || slices.ContainsFunc(o.TCP.ServerNames, func(s effective.ServerName) bool { return x.wrote(s.TCPTable) }) {
			return true
		}
	}
	if o.Table == nil || len(o.Table.Routes) == 0 {
		return x.speaks(o.Policies) // at the destination, or at each of those rules
	}
	seen := map[string]bool{}
	for _, rt := range o.Table.Routes {
		if !seen[rt.Key] && (slices.ContainsFunc(rt.Origins, x.is) || slices.ContainsFunc(rt.IncludedBy, x.is) || x.speaks(rt.Policies) || x.speaksOnward(r, rt)) {
			return true
		}
		seen[rt.Key] = true
	}
	return false
}

// wrote reports whether it is a rule for whole connections.
func (x *about) wrote(t *effective.TCPTable) bool {
	return t.BackendsBy != nil && slices.ContainsFunc(t.Origins, x.is)
}

func (x *about) speaks(list effective.Policies) bool {
	return slices.ContainsFunc(list, func(e *policies.Effective) bool {
		says, known := x.says[e]
		if !known {
			says = x.saysOf(e)
			x.says[e] = says
		}
		return says
	})
}

// speaksOnward reports whether it has a say on connections to a backend of a rule.
func (x *about) speaksOnward(r *effective.Resolved, rt *effective.Route) bool {
	return slices.ContainsFunc(rt.Backends, func(b effective.Backend) bool {
		use := notes.ClusterNamed(r, b.Cluster)
		return use != nil && b.Weight > 0 && x.speaks(use.Policies)
	})
}

func (x *about) saysOf(e *policies.Effective) bool {
	for _, s := range e.Said {
		if x.is(s.Origin) {
			return true
		}
	}
	return false
}

// keep leaves of the rules, inbounds and notes of e those where x has a say.
func (e *Explanation) keep(x *about) {
	speaks := func(all map[string]sim.Policy) bool {
		for _, p := range all {
			for _, said := range p.All() {
				if slices.ContainsFunc(said, func(s sim.Opinion) bool { return x.is(s.Origin) }) {
					return true
				}
			}
		}
		return false
	}
	for i := range e.Outbounds {
		o := &e.Outbounds[i]
		o.Routes = slices.DeleteFunc(o.Routes, func(r Route) bool {
			return !slices.ContainsFunc(r.Origins, x.is) && !slices.ContainsFunc(r.Via, x.is) && !speaks(r.Policies) &&
				!slices.ContainsFunc(r.Backends, func(b sim.Backend) bool { return speaks(b.Policies) })
		})
	}
	e.Inbounds = slices.DeleteFunc(e.Inbounds, func(in Inbound) bool {
		return !speaks(in.Policies) && !slices.ContainsFunc(in.Callers, func(c CallerPolicies) bool { return speaks(c.Policies) })
	})
	if !speaks(e.Policies) {
		e.Policies = nil
	}
	e.Notes = slices.DeleteFunc(e.Notes, func(n api.Note) bool { return !x.is(n.Origin) })
}
