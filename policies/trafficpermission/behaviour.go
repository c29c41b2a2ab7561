package trafficpermission

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/sim/permission"
)

// OneSpelling reports whether an entry names a path.
func (e *Effective) OneSpelling() bool { return e.Paths }

// Judge is what becomes of a caller, as sim tells it.
func (e *Effective) Judge(v *permission.Visit) *permission.Permission {
	out := e.Decide(&Asked{Names: v.Names, Request: v.Request})
	return out.view()
}

// Lists are the entries of the inbound, or of a rule at it, as sim tells them.
func (e *Effective) Lists() *permission.PermissionLists {
	if len(e.Each) == 0 {
		return e.Permissions.lists()
	}
	out := e.Each[0].lists()
	for _, x := range e.Each[1:] {
		out.Also = append(out.Also, x.lists())
	}
	return out
}

func (p *Permissions) lists() *permission.PermissionLists {
	entries := func(list []*Entry) (out []permission.PermissionEntry) {
		for _, x := range list {
			out = append(out, permission.PermissionEntry{PermissionBy: *x.view(), Match: x.Says, Override: x.Tier == OverrideDenies || x.Tier == OverrideAllows, ShadowedBy: x.ShadowedBy})
		}
		return out
	}
	allows := append(slices.Clip(p.Allow), p.Replaced...)
	slices.SortStableFunc(allows, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) })
	return &permission.PermissionLists{Deny: entries(p.Deny), Allow: entries(allows), Shadow: entries(p.Shadow)}
}

func (v *Verdict) view() *permission.Permission {
	out := &permission.Permission{Decision: permission.Deny, Tier: int(v.Tier), By: v.By.view()}
	if v.Allowed {
		out.Decision = permission.Allow
	}
	switch {
	case v.Unjudged:
		out.Reason = "plaintext is let in, and nobody asks who calls"
	case v.Tier == Nobody:
		out.Reason = "no entry lets the caller in"
	}
	if v.ShadowDenied != nil || v.ShadowNobody {
		out.Shadow, out.ShadowBy = permission.Deny, v.ShadowDenied.view()
	}
	for _, c := range v.Considered {
		out.Others = append(out.Others, permission.Considered{By: *c.By.view(), Why: c.Why})
	}
	return out
}

// view is nil for no entry.
func (e *Entry) view() *permission.PermissionBy {
	if e == nil {
		return nil
	}
	return &permission.PermissionBy{Origin: e.Origin, Rule: e.Rule, List: e.List, Index: e.Index, Layer: e.Layer.String(), Field: e.Field(), Name: e.Name}
}
