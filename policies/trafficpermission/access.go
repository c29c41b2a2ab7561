package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/sim/permission"
)

// Access is what a caller may do at an inbound, whatever it asks for: some where that depends
// on the request. The entry is the one that decides, or the first that may.
func (e *Effective) Access(names []string, requests bool) *permission.Permission {
	if !requests || len(names) == 0 && !e.Anonymous {
		v := e.Decide(&Asked{Names: names})
		return v.view()
	}
	p := e.Permissions
	v := p.access(names)
	out := &permission.Permission{Decision: v.decision, Tier: int(v.tier), By: v.by.view()}
	for _, x := range append(slices.Clip(p.Each), p) {
		if x.Trial != nil && v.decision != permission.Deny && out.Shadow == "" {
			if t := x.Trial.access(names); t.decision == permission.Deny {
				out.Shadow, out.ShadowBy = permission.Deny, t.by.view()
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
				return access{permission.Some, e.Tier, e}
			}
		}
		return access{decision, by.Tier, by}
	}
	switch {
	case above != nil:
		return certain(permission.Deny, above)
	case lets != nil:
		return certain(permission.Allow, lets, mayBeAbove)
	case denies != nil:
		return certain(permission.Deny, denies, mayLet)
	case allows != nil:
		return certain(permission.Allow, allows, mayBeAbove, mayDeny)
	case mayLet != nil:
		return certain(permission.Some, mayLet)
	case mayAllow != nil:
		return access{permission.Some, mayAllow.Tier, mayAllow}
	}
	return access{decision: permission.Deny, tier: Nobody}
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
