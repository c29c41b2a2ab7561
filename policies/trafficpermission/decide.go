package trafficpermission

import "fmt"

// Verdict is what becomes of a request, and why.
type Verdict struct {
	Allowed bool
	Tier    Tier
	By      *Entry // the entry that decides; nil where none holds
	// ShadowDenied is the entry that would refuse what is allowed, were shadows real; nil
	// where none would. ShadowNobody says that nothing would allow it.
	ShadowDenied *Entry
	ShadowNobody bool
	// Unjudged says that the caller has no identity, and is let in without being asked.
	Unjudged bool
	// Considered are entries that do not hold or come too late, each with the reason.
	Considered []Considered
}

// Considered is an entry that did not decide.
type Considered struct {
	By  *Entry
	Why string
}

// mostConsidered bounds what a verdict tells of.
const mostConsidered = 20

// Decide is what becomes of a request, by whose proved names it comes. No permissions, nil,
// allow nobody who has proved a name, and let in who has none where plaintext is let in.
func (p *Permissions) Decide(a *Asked) Verdict {
	if len(a.Names) == 0 && (p == nil || !p.Anonymous) {
		return Verdict{Allowed: true, Unjudged: true}
	}
	if p == nil {
		return Verdict{Tier: Nobody}
	}
	if len(p.Each) > 0 {
		return p.decideAll(a)
	}
	v := p.decide(a)
	if v.Allowed && p.Trial != nil {
		if t := p.Trial.decide(a); !t.Allowed {
			v.ShadowDenied, v.ShadowNobody = t.By, t.By == nil
		}
	}
	p.consider(a, &v)
	return v
}

// decide is Decide of a request that is judged. Envoy looks at entries that refuse by name,
// then at those that allow, by name too: of several that hold the first is the one.
func (p *Permissions) decide(a *Asked) Verdict {
	above := first(p.Allow, a, func(e *Entry) bool { return e.Tier == OverrideAllows })
	refuses := first(p.Deny, a, func(e *Entry) bool { return e.Tier == OverrideDenies || above == nil })
	if refuses != nil {
		return Verdict{Tier: refuses.Tier, By: refuses}
	}
	if e := first(p.Allow, a, func(*Entry) bool { return true }); e != nil {
		return Verdict{Allowed: true, Tier: e.Tier, By: e}
	}
	return Verdict{Tier: Nobody}
}

func first(list []*Entry, a *Asked, of func(*Entry) bool) *Entry {
	for _, e := range list {
		if of(e) && e.Holds(a) {
			return e
		}
	}
	return nil
}

// consider tells why the other entries did not decide: those that would have let in what is
// denied, and of what is allowed those that would have refused it.
func (p *Permissions) consider(a *Asked, v *Verdict) {
	add := func(e *Entry, why string) {
		if why != "" && e != v.By && len(v.Considered) < mostConsidered {
			v.Considered = append(v.Considered, Considered{e, why})
		}
	}
	if v.Allowed {
		for _, e := range p.Deny {
			if why := e.holds.lacks(a); why != "" {
				add(e, why)
			} else {
				add(e, "an override that allows stands over it")
			}
		}
		return
	}
	for _, e := range p.Allow {
		if why := e.holds.lacks(a); why != "" {
			add(e, why)
		} else {
			add(e, "what denies goes first")
		}
	}
	for _, e := range p.Replaced {
		add(e, fmt.Sprintf("%s stands in its place", e.ShadowedBy))
	}
}
