package trafficpermission

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/match"
)

// Void are the entries of a document that hold of no request, as inbounds read them: nobody is let in,
// or kept out, by those.
func (authorizer) Void(s *policies.Spec) []policies.Void {
	var out []policies.Void
	add := func(origin api.Path, block string, conf policies.Conf) {
		c, ok := conf.(*Conf)
		if !ok {
			return
		}
		for _, l := range c.lists() {
			for i := range l.matches {
				if why := l.matches[i].HTTP.unmet(); why != "" {
					v := policies.Void{Entry: origin, Field: origin.Field(block).Field(l.name).Index(i).Field("http"), Protects: l.name == deny, Message: "it lets nobody in: " + why}
					if v.Protects {
						v.Message = "it denies nothing: " + why
					}
					out = append(out, v)
				}
			}
		}
	}
	for i := range s.Rules {
		at := api.Path("spec.rules").Index(i)
		add(at, "default", s.Rules[i].Default)
		add(at, "override", s.Rules[i].Override)
	}
	return out
}

// unmet is why no request meets m, and what to write; empty where one may, or where m is wrong
// otherwise.
func (m *HTTPMatch) unmet() string {
	if m == nil {
		return ""
	}
	groups, err := m.conditions()
	if err != nil {
		return ""
	}
	var all match.Conditions // those that have no alternative
	for _, group := range groups {
		if len(group) == 1 {
			all = append(all, group[0])
		}
	}
	return all.Unmet(match.AtPermissions)
}
