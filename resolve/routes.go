package resolve

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/matcher"
	"github.com/weftmesh/weft/route"
)

// routeObject is one route object, read once.
type routeObject struct {
	object    *api.Object
	dialect   int // index in the model's dialects: the smaller owns a destination
	parsed    *route.Object
	notes     []api.Note
	facts     matcher.RouteObject
	selector  *matcher.Selector
	rank      rank
	ruleNames map[string]bool
	known     map[string]bool // all by which a sectionName may mean a rule
}

func newRouteObject(o *api.Object, dialect int, d route.Dialect, zone map[string]string) *routeObject {
	parsed, notes := d.Routes(o)
	r := &routeObject{object: o, dialect: dialect, parsed: parsed, notes: notes, facts: matcher.RouteOf(o, zone), ruleNames: map[string]bool{}}
	if parsed == nil {
		r.parsed = &route.Object{Ref: o.Ref, Source: o, Top: api.TargetRef{Kind: api.KindMesh}}
	}
	role := cmp.Or(r.parsed.Role, api.RoleSystem)
	r.selector = matcher.SelectorOf(r.parsed.Top, localOf(o, role))
	r.rank = rankOf(o, r.parsed.Top, role)
	for _, e := range r.parsed.Entries {
		for _, rule := range e.Rules {
			if rule.Origin.RuleName != "" {
				r.ruleNames[rule.Origin.RuleName] = true
			}
		}
	}
	r.known = map[string]bool{}
	for _, e := range r.parsed.Entries {
		for i := range e.Rules {
			for _, name := range r.sections(e.Rules[i].Origin) {
				r.known[name] = true
			}
		}
	}
	return r
}

// contribution is what one route object says about one destination.
type contribution struct {
	route *routeObject
	entry *route.Entry
	rank  rank
}

// mergedRule is one match key with everything that contributed to it.
type mergedRule struct {
	key                   string
	matches               []route.Match
	filters               []route.Filter
	backends              []route.BackendRef
	filtersBy, backendsBy *source
	sources               []source // strongest first
}

// source is one rule of one contribution.
type source struct {
	route *routeObject
	rule  *route.Rule
}

// mergeRules lays the contributions, weakest first, over each other by match key
// (spec/kuma.md 2.2): the strongest object's rules come first, in the order
// written; of filters and backends the strongest list holds as a whole.
func mergeRules(contributions []*contribution) []*mergedRule {
	var rules []*mergedRule
	byKey := map[string]*mergedRule{}
	for _, c := range slices.Backward(contributions) {
		for i := range c.entry.Rules {
			rule := &c.entry.Rules[i]
			m := byKey[rule.Key]
			if m == nil {
				m = &mergedRule{key: rule.Key, matches: rule.Matches}
				byKey[rule.Key] = m
				rules = append(rules, m)
			}
			s := source{c.route, rule}
			m.sources = append(m.sources, s)
			if m.filters == nil && rule.Filters != nil {
				m.filters, m.filtersBy = rule.Filters, &s
			}
			if m.backends == nil && rule.Backends != nil {
				m.backends, m.backendsBy = rule.Backends, &s
			}
		}
	}
	return rules
}

// origins are the rules that contributed, weakest first.
func (m *mergedRule) origins() []*api.Origin {
	out := make([]*api.Origin, 0, len(m.sources))
	for _, s := range slices.Backward(m.sources) {
		out = append(out, s.rule.Origin)
	}
	return out
}
