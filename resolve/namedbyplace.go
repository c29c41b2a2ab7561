package resolve

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/index"
	"github.com/weftmesh/weft/route/match"
)

// NamedRule is a rule of a route that a policy names by its place among the others, as 2 or 0.2.
type NamedRule struct {
	Field   api.Path // of the sectionName in the policy
	Section string
	Route   api.Ref
	Origin  *api.Origin
	Matches []match.Match
}

// NamedByPlace are the rules that a policy names by their places.
func (q *Reader) NamedByPlace(ref api.Ref) []NamedRule {
	x, ok := q.mesh(ref.Mesh)
	if !ok {
		return nil
	}
	p := x.Policy(ref)
	if p == nil {
		return nil
	}
	var out []NamedRule
	add := func(at api.Path, to *api.TargetRef) {
		if to == nil || to.SectionName == "" {
			return
		}
		for r := range x.SelectedRoutes(to, p.Object.Home()) {
			if n, ok := byPlace(r, to.SectionName); ok {
				n.Field = at.Field("sectionName")
				out = append(out, n)
			}
		}
	}
	add("spec.targetRef", p.TopRoute)
	for _, it := range p.Items {
		if it.Target.IsRoute() {
			add(it.Field.Field("targetRef"), &it.Target)
		}
	}
	return out
}

// byPlace is the rule that a sectionName means which is the name of none.
func byPlace(r *index.Route, section string) (NamedRule, bool) {
	if r.RuleNames[section] {
		return NamedRule{}, false
	}
	for _, e := range r.Parsed.Entries {
		for i := range e.Rules {
			rule := &e.Rules[i]
			if rule.Origin.Ref == r.Object.Ref && slices.Contains(r.Sections(rule.Origin), section) {
				return NamedRule{Section: section, Route: r.Object.Ref, Origin: rule.Origin, Matches: rule.Matches}, true
			}
		}
	}
	return NamedRule{}, false
}
