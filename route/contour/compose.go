package contour

import (
	"regexp"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// notFound is the answer to what nothing matches.
var notFound = &route.MergedRule{Key: "httpproxy-none", Name: "httpproxy-none", Do: &route.Respond{Status: 404}, NoPolicies: true}

// compose orders the rules of the one root that is served; of rules with the same
// conditions the last holds, and a root's own come last. Where several objects want
// the host none is served, and nothing is found there.
func compose(_ route.Frontend, candidates []route.Candidate) route.Composition {
	var out route.Composition
	var written []*route.Rule
	var cors hostFilter
	for _, c := range candidates {
		says, served := c.Payload.(*host)
		if !served {
			continue
		}
		out.Inline = append(out.Inline, says.limit...)
		if says.cors != nil {
			cors = hostFilter{route.Filter{CORS: says.cors}, &api.Origin{Ref: c.Object.Ref, Field: "spec.virtualhost.corsPolicy"}}
		}
		for i := range c.Rules {
			if c.Rules[i].Payload != nil {
				written = append(written, &c.Rules[i])
			}
		}
	}
	rules := merge.LastWins(written, func(r **route.Rule) string { return (*r).Payload.(*said).key })
	slices.SortStableFunc(rules, func(a, b merge.Won[*route.Rule]) int {
		return a.Item.Payload.(*said).compare(&b.Item.Payload.(*said).asked)
	})
	for _, won := range rules {
		c := composed(won, &cors)
		out.Rows = append(out.Rows, route.Row{MergedRule: c, Match: c.Matches[0]})
	}
	if !slices.ContainsFunc(out.Rows, func(r route.Row) bool { return r.Match.Everything() }) {
		out.Default = notFound
	}
	return out
}

// hostFilter is a filter of the host as a whole; none where it has no origin.
type hostFilter struct {
	route.Filter
	by *api.Origin
}

func composed(won merge.Won[*route.Rule], cors *hostFilter) *route.MergedRule {
	r, s := won.Item, won.Item.Payload.(*said)
	out := &route.MergedRule{Key: s.key, Name: s.key, Matches: r.Matches, Do: s.do, Filters: s.filters, Upgrade: s.upgrade, Origins: []*api.Origin{r.Origin},
		ActionBy: r.Origin, IncludedBy: s.via, Inline: s.inline, NoPolicies: s.bare}
	if _, forwards := s.do.(*route.Forward); forwards && cors.by != nil {
		out.Filters = append(slices.Clip(out.Filters), cors.Filter)
		out.FiltersBy = cors.by
	}
	if len(s.filters) > 0 {
		out.FiltersBy = r.Origin
	}
	for _, lost := range won.Over {
		out.Superseded = append(out.Superseded, lost.Origin)
	}
	return out
}

// onlyBelow keeps rules to names one label below a wildcard host, for Envoy takes more.
func onlyBelow(rules []route.Rule, fqdn string) {
	parent, wild := strings.CutPrefix(fqdn, "*")
	if !wild {
		return
	}
	c := oneLabel(parent)
	for i := range rules {
		for j := range rules[i].Matches {
			m := &rules[i].Matches[j]
			m.Conditions = append(slices.Clip(m.Conditions), c)
		}
	}
}

// oneLabel asks for a name with one label in front of the parent of a wildcard host.
func oneLabel(parent string) match.Condition {
	c, err := match.MatchAll(match.OnAuthority, "", 0, `(?i:`+label+regexp.QuoteMeta(parent)+`)(:[0-9]+)?`)
	if err != nil {
		panic(err) // Validate has looked at the name
	}
	return c
}
