package trafficpermission

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route/kuma"
)

// lists are those of a rule, by name.
func (c *Conf) lists() []struct {
	name    string
	matches []Match
} {
	return []struct {
		name    string
		matches []Match
	}{{deny, c.Deny}, {allow, c.Allow}, {allowWithShadowDeny, c.AllowWithShadowDeny}}
}

// Validate reports every mistake of the conf itself; which of its fields may stand where,
// whole says.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.Action != nil && !slices.Contains([]string{allowAction, denyAction, shadowAction}, *c.Action) {
		f.OneOf(at.Field("action"), *c.Action, allowAction, denyAction, shadowAction)
	}
	for _, l := range c.lists() {
		for i := range l.matches {
			l.matches[i].validate(&f, at.Field(l.name).Index(i))
		}
	}
	c.warn(&f, at)
	return f.Err()
}

func (m *Match) validate(f *policies.Findings, at api.Path) {
	if m.SpiffeID == nil && m.SNI == nil && m.HTTP == nil && m.Anonymous == nil {
		f.Breaks(at, "matches nothing; set spiffeID, sni, http or anonymous")
	}
	if m.SpiffeID != nil {
		m.SpiffeID.CheckCaller(f, at.Field("spiffeID"))
	}
	if m.SNI != nil {
		m.SNI.CheckSNI(f, at.Field("sni"))
	}
	if m.HTTP != nil {
		m.HTTP.validate(f, at.Field("http"))
	}
	switch {
	case m.Anonymous == nil:
	case !*m.Anonymous:
		f.Breaks(at.Field("anonymous"), "false says nothing; write true, or name callers by spiffeID")
	case m.SpiffeID != nil:
		f.Breaks(at.Field("anonymous"), "who is anonymous has no spiffeID, so the match would never hold; write two")
	}
}

func (m *HTTPMatch) validate(f *policies.Findings, at api.Path) {
	if m.Path == nil && len(m.Methods) == 0 && len(m.Headers) == 0 {
		f.Breaks(at, "matches nothing; set path, methods or headers")
	}
	if m.Path != nil {
		f.Include(kuma.CheckPath(at.Field("path"), m.Path))
	}
	for i, method := range m.Methods {
		if known := kuma.Methods(); !slices.Contains(known, method) {
			f.OneOf(at.Field("methods").Index(i), method, known...)
		}
	}
	f.Headers(at.Field("headers"), m.Headers)
}

// whole checks that items of from have an action and rules have lists.
func whole(s *policies.Spec, at api.Path) error {
	var f policies.Findings
	for i, item := range s.From {
		here := at.Field("from").Index(i)
		actionOnly(&f, here.Field("default"), item.Default)
		actionOnly(&f, here.Field("override"), item.Override)
	}
	for i, r := range s.Rules {
		here := at.Field("rules").Index(i)
		listsOnly(&f, here.Field("default"), r.Default)
		listsOnly(&f, here.Field("override"), r.Override)
	}
	return f.Err()
}

func actionOnly(f *policies.Findings, at api.Path, conf policies.Conf) {
	c, ok := conf.(*Conf)
	if !ok {
		return
	}
	if c.Action == nil {
		f.Breaks(at.Field("action"), "is missing; write one of %s, %s, %s", allowAction, denyAction, shadowAction)
	}
	for _, l := range c.lists() {
		if l.matches != nil {
			f.Breaks(at.Field(l.name), "belongs to rules; the targetRef of this item says who calls, and action what becomes of it")
		}
	}
}

func listsOnly(f *policies.Findings, at api.Path, conf policies.Conf) {
	c, ok := conf.(*Conf)
	if !ok {
		return
	}
	if c.Action != nil {
		f.Breaks(at.Field("action"), "belongs to from; write the callers under deny, allow or allowWithShadowDeny")
	}
	if len(c.Deny)+len(c.Allow)+len(c.AllowWithShadowDeny) == 0 {
		f.Breaks(at, "names nobody; add a match to deny, allow or allowWithShadowDeny")
	}
}
