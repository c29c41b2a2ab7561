package trafficpermission

import (
	"github.com/weftmesh/weft/sim"
)

// OneSpelling reports whether an entry names a path.
func (e *Effective) OneSpelling() bool { return e.Paths }

// Judge is what becomes of a caller, as sim tells it.
func (e *Effective) Judge(v *sim.Visit) *sim.Permission {
	out := e.Decide(&Asked{Names: v.Names, Request: v.Request})
	return out.view()
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
