package plan

import (
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/plan/access"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
)

// rule is a rule of a table: the first of its rows, and that row's place among the rules.
type rule struct {
	*effective.Route
	at int
}

// rulesOf are the rules of a table by their match keys, in the order of their first matches.
func rulesOf(t *effective.Table) (map[string]rule, []string) {
	found, order := map[string]rule{}, []string(nil)
	if t == nil {
		return found, nil
	}
	for _, r := range t.Routes {
		if _, again := found[r.Key]; !again {
			found[r.Key] = rule{r, len(order)}
			order = append(order, r.Key)
		}
	}
	return found, order
}

// routes is what changes about the rules for the requests to a destination.
func (d *differ) routes(base Effect, a, b side) (out []*entry[Effect]) {
	was, order := rulesOf(a.Table)
	is, newer := rulesOf(b.Table)
	moved := moved(was, newer)
	for _, key := range order {
		d.losable(was[key].Origins...)
		if _, stays := is[key]; !stays {
			e := on(base, was[key].Route)
			e.Section, e.Before, e.Origin = SectionRoute, was[key].at, access.LastOf(was[key].Origins)
			d.losableAt(was[key].Route)
			out = append(out, d.effect(e))
		}
	}
	for _, key := range newer {
		before, there := was[key]
		after := is[key]
		e := on(base, after.Route)
		e.Section, e.After, e.Origin = SectionRoute, after.at, access.LastOf(after.Origins)
		if there {
			e.Before = before.at
		}
		if !there || moved[key] {
			out = append(out, d.effect(e))
		}
		if before.Route != after.Route || d.leads[b.Table] != nil {
			out = append(out, d.rule(on(base, after.Route), a, before.Route, b, after.Route)...)
		}
	}
	return out
}

// on is base for a rule.
func on(base Effect, r *effective.Route) Effect {
	base.Route = &Route{Key: r.Key, Name: r.Name, Text: terminal.MatchesText(r.Matches)}
	return base
}

// moved are the rules that stand elsewhere among those that stay: as few as possible.
func moved(was map[string]rule, newer []string) map[string]bool {
	// The longest run of them that keeps its order is what stands still.
	type link struct{ at, before int } // in newer
	var tails []int                    // of the best run of each length, its last in newer
	links := make([]link, len(newer))
	for i, key := range newer {
		r, ok := was[key]
		if !ok {
			continue
		}
		n, _ := slices.BinarySearchFunc(tails, r.at, func(j, at int) int { return links[j].at - at })
		links[i] = link{at: r.at, before: -1}
		if n > 0 {
			links[i].before = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	out := map[string]bool{}
	for _, key := range newer {
		if _, ok := was[key]; ok {
			out[key] = true
		}
	}
	if len(tails) > 0 {
		for i := tails[len(tails)-1]; i >= 0; i = links[i].before {
			delete(out, newer[i])
		}
	}
	return out
}

// rule is what changes about one rule, of which nothing was there where before is nil.
func (d *differ) rule(base Effect, a side, before *effective.Route, b side, after *effective.Route) (out []*entry[Effect]) {
	old, now := explain.Route{}, explain.RouteOf(b.of, b.Destination.Protocol, after)
	if before != nil {
		old = explain.RouteOf(a.of, a.Destination.Protocol, before)
	}
	out = d.connected(base, &old, &now)
	tell := func(p Section, by, byBefore *api.Origin, a, b any) {
		if differs(a, b) {
			e := base
			e.Section, e.Before, e.After, e.Origin = p, a, b, by
			if b == nil {
				e.Origin = byBefore
			} else if byBefore != nil && !sameOrigin(byBefore, by) {
				e.OriginBefore = byBefore
			}
			out = append(out, d.effect(e))
		}
	}
	by, byBefore := access.LastOf(now.Origins), access.LastOf(old.Origins)
	if before != nil {
		tell(PartMatches, by, byBefore, old.Matches, now.Matches)
		tell(SectionOrigins, by, byBefore, old.Origins, now.Origins)
	}
	tell(PartFilters, now.FiltersBy, old.FiltersBy, orNil(old.Filters), orNil(now.Filters))
	tell(PartBackends, now.BackendsBy, old.BackendsBy, orNil(old.Backends), orNil(now.Backends))
	tell(PartMirrors, now.FiltersBy, old.FiltersBy, orNil(old.Mirrors), orNil(now.Mirrors))
	tell(SectionAction, now.BackendsBy, old.BackendsBy, actionOf(&old), actionOf(&now))
	return append(out, d.policies(base, old.Policies, now.Policies)...)
}

// connected is what changes about the connections to the backends of a rule that have their own
// policies, which it takes out of both. Those of an only backend are the rule's; of several the text of
// the rule says which.
func (d *differ) connected(base Effect, old, now *explain.Route) (out []*entry[Effect]) {
	was, is := onwardOf(old), onwardOf(now)
	for _, name := range union(was, is) {
		e := base
		e.Route = &Route{Key: base.Route.Key, Name: base.Route.Name, Backend: name, Text: base.Route.Text + ", to " + name}
		out = append(out, d.policies(e, was[name], is[name])...)
	}
	return out
}

// join lets the policies of an only backend be those of its rule.
func join(r *explain.Route) {
	if len(r.Backends) != 1 || r.Backends[0].Policies == nil {
		return
	}
	all := maps.Clone(r.Policies)
	for kind, b := range r.Backends[0].Policies {
		p := all[kind]
		p.Why, p.Idle = maps.Clone(p.Why), slices.Clone(p.Idle)
		if p.Why == nil {
			p.Why = map[string][]sim.Opinion{}
		}
		for field, said := range b.Why {
			p.Why[field] = said
			p.Idle = slices.DeleteFunc(p.Idle, func(idle string) bool { return idle == field })
		}
		p.Idle = append(p.Idle, b.Idle...)
		all[kind] = p
	}
	r.Policies, r.Backends[0].Policies = all, nil
}

// onwardOf are the policies of the backends of a rule, by their names, taken out of it.
func onwardOf(r *explain.Route) map[string]map[string]sim.Policy {
	join(r)
	out := map[string]map[string]sim.Policy{}
	for i := range r.Backends {
		b := &r.Backends[i]
		if b.Policies != nil {
			out[terminal.BackendText(*b)] = b.Policies
		}
		b.Policies = nil
	}
	return out
}

// action is what the proxy does with a request beside forwarding it to a backend.
type action struct {
	Answer     string `json:"answer,omitempty"`
	Hash       string `json:"hash,omitempty"`
	WebSockets string `json:"webSockets,omitempty"`
}

func actionOf(r *explain.Route) any {
	if a := (action{r.Answer, r.Hash, r.WebSockets}); a != (action{}) {
		return a
	}
	return nil
}

// orNil is null for an empty list.
func orNil[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}

// policies is what changes about the fields of policies that have an effect.
func (d *differ) policies(base Effect, before, after map[string]sim.Policy) (out []*entry[Effect]) {
	for _, kind := range union(before, after) {
		was, is := acting(before[kind]), acting(after[kind])
		for _, field := range union(was, is) {
			e := base
			e.Policy, e.Field = kind, field
			a, had := was[field]
			b, has := is[field]
			if had {
				e.Before, e.Origin = a.Value, a.Origin
				d.losable(a.Origin)
			}
			if has {
				e.After, e.Origin = b.Value, b.Origin
			}
			other := had && has && !b.by(a.Origin)
			if other {
				e.OriginBefore = a.Origin
			}
			if other || had != has || differs(a.Value, b.Value) {
				out = append(out, d.effect(e))
			}
		}
	}
	return out
}

func sameOrigin(a, b *api.Origin) bool { return a == b || a != nil && b != nil && a.Same(b) }

// holding is what holds of a field, and whose words those are: of lists that add up several, the last
// first.
type holding struct {
	sim.Opinion
	also []*api.Origin
}

// by reports whether what o says is among it.
func (h *holding) by(o *api.Origin) bool {
	return sameOrigin(h.Origin, o) || slices.ContainsFunc(h.also, func(x *api.Origin) bool { return sameOrigin(x, o) })
}

// acting is what holds of a policy, by field, where it has an effect.
func acting(p sim.Policy) map[string]holding {
	out := make(map[string]holding, len(p.Why))
	for field, said := range p.Why {
		if len(said) > 0 && !slices.Contains(p.Idle, field) {
			out[field] = held(said)
		}
	}
	return out
}

// held is what holds of what was said: where several lists do, all their entries.
func held(said []sim.Opinion) holding {
	last := len(said) - 1
	out := holding{Opinion: said[last]}
	var all []any
	for i := range said {
		list, ok := policies.Items(said[i].Value)
		if !said[i].Joined() || !ok {
			continue
		}
		all = append(all, list...)
		if i < last {
			out.also = append(out.also, said[i].Origin)
		}
	}
	if len(out.also) > 0 {
		out.Value = all
	}
	return out
}
