package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/sim"
)

// Access is what a caller may do at an inbound, whatever it asks for: some where that depends
// on the request. The entry is the one that decides, or the first that may.
func (e *Effective) Access(names []string, requests bool) *sim.Permission {
	if !requests || len(names) == 0 && !e.Anonymous {
		v := e.Decide(&Asked{Names: names})
		return v.view()
	}
	p := e.Permissions
	v := p.access(names)
	out := &sim.Permission{Decision: v.decision, Tier: int(v.tier), By: v.by.view()}
	for _, x := range append(slices.Clip(p.Each), p) {
		if x.Trial != nil && v.decision != sim.Deny && out.Shadow == "" {
			if t := x.Trial.access(names); t.decision == sim.Deny {
				out.Shadow, out.ShadowBy = sim.Deny, t.by.view()
			}
		}
	}
	if v.tier == Nobody {
		out.Reason = "no entry lets the caller in"
	}
	return out
}

type access struct {
	decision string
	tier     Tier
	by       *Entry
}

// access is what names alone decide. Of an entry that asks something of requests it may hold or
// not.
func (p *Permissions) access(names []string) access {
	if len(p.Each) > 0 {
		return p.accessAll(names)
	}
	above, mayBeAbove := aboutNames(p.Deny, names, OverrideDenies)
	lets, mayLet := aboutNames(p.Allow, names, OverrideAllows)
	denies, mayDeny := aboutNames(p.Deny, names, Denies)
	allows, mayAllow := aboutNames(p.Allow, names, Allows, DefaultAllows)
	certain := func(decision string, by *Entry, unless ...*Entry) access {
		for _, e := range unless {
			if e != nil {
				return access{sim.Some, e.Tier, e}
			}
		}
		return access{decision, by.Tier, by}
	}
	switch {
	case above != nil:
		return certain(sim.Deny, above)
	case lets != nil:
		return certain(sim.Allow, lets, mayBeAbove)
	case denies != nil:
		return certain(sim.Deny, denies, mayLet)
	case allows != nil:
		return certain(sim.Allow, allows, mayBeAbove, mayDeny)
	case mayLet != nil:
		return certain(sim.Some, mayLet)
	case mayAllow != nil:
		return access{sim.Some, mayAllow.Tier, mayAllow}
	}
	return access{decision: sim.Deny, tier: Nobody}
}

// aboutNames are the first entries of some tiers that hold of a caller, whatever it asks for, and
// of which that depends.
func aboutNames(list []*Entry, names []string, tiers ...Tier) (holds, may *Entry) {
	for _, e := range list {
		in := false
		for _, t := range tiers {
			in = in || e.Tier == t
		}
		c := e.holds
		c.http = nil
		c.sni = ""
		switch {
		case !in || !c.holds(&Asked{Names: names}):
		case len(e.holds.http) > 0 || e.holds.sni != "":
			if may == nil {
				may = e
			}
		case holds == nil:
			holds = e
		}
	}
	return holds, may
}
