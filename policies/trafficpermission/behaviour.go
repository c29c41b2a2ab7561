package trafficpermission

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/sim"
)

// OneSpelling reports whether an entry names a path.
func (e *Effective) OneSpelling() bool { return e.Paths }

// Judge is what becomes of a caller, as sim tells it.
func (e *Effective) Judge(v *sim.Visit) *sim.Permission {
	out := e.Decide(&Asked{Names: v.Names, Request: v.Request})
	return out.view()
}

// Lists are the entries of the inbound, or of a rule at it, as sim tells them.
func (e *Effective) Lists() *sim.PermissionLists {
	if len(e.Each) == 0 {
		return e.Permissions.lists()
	}
	out := e.Each[0].lists()
	for _, x := range e.Each[1:] {
		out.Also = append(out.Also, x.lists())
	}
	return out
}

func (p *Permissions) lists() *sim.PermissionLists {
	entries := func(list []*Entry, of func(*Entry) bool) (out []sim.PermissionEntry) {
		for _, x := range list {
			if of(x) {
				out = append(out, sim.PermissionEntry{PermissionBy: *x.view(), Match: x.Says, Override: x.Tier == OverrideDenies || x.Tier == OverrideAllows, ShadowedBy: x.ShadowedBy})
			}
		}
		return out
	}
	all := func(*Entry) bool { return true }
	allows := append(slices.Clip(p.Allow), p.Replaced...)
	slices.SortStableFunc(allows, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	return &sim.PermissionLists{Deny: entries(p.Deny, all), Allow: entries(allows, all), Shadow: entries(p.Shadow, all)}
}

func (v *Verdict) view() *sim.Permission {
	out := &sim.Permission{Decision: sim.Deny, Tier: int(v.Tier), By: v.By.view()}
	if v.Allowed {
		out.Decision = sim.Allow
	}
	switch {
	case v.Unjudged:
		out.Reason = "plaintext is let in, and nobody asks who calls"
	case v.Tier == Nobody:
		out.Reason = "no entry lets the caller in"
	}
	if v.ShadowDenied != nil || v.ShadowNobody {
		out.Shadow, out.ShadowBy = sim.Deny, v.ShadowDenied.view()
	}
	for _, c := range v.Considered {
		out.Others = append(out.Others, sim.Considered{By: *c.By.view(), Why: c.Why})
	}
	return out
}

// view is nil for no entry.
func (e *Entry) view() *sim.PermissionBy {
	if e == nil {
		return nil
	}
	return &sim.PermissionBy{Origin: e.Origin, Rule: e.Rule, List: e.List, Index: e.Index, Layer: e.Layer.String(), Field: e.Field(), Name: e.Name}
}
