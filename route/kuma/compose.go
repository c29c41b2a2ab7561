package kuma

import (
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/route"
)

// rule is what a rule of a MeshHTTPRoute says.
type rule struct {
	key string // by which rules of different objects meet
	// filters and backends are nil where the rule leaves them to weaker objects; an
	// empty list that is not nil says 'none' and 'the destination itself'.
	filters  []route.Filter
	backends []route.BackendRef
	redirect *route.Redirect // the last one among the filters
}

// lost is what a share is answered with that nobody can take (spec/kuma.md 2.3).
const lost = 500

// ImplicitKey is the key of the match {path: PathPrefix /} (spec/kuma.md 2.1). It
// names the implicit last route, so that a rule for everything and that one have
// one name.
const ImplicitKey = "9Zuf5Tg79OuZcQITwBbQykxAk2u4fRKrwYn3//AL4Yo="

// implicit sends what no rule matches to where it was going (spec/kuma.md 2.3).
var implicit = &route.MergedRule{Key: ImplicitKey, Name: ImplicitKey, Do: route.Passthrough{}}

// compose lays the rules of all objects over each other by match key (spec/kuma.md
// 2.2): the strongest object's come first, in the order written; of filters and
// backends the strongest list holds as a whole.
func compose(_ route.Frontend, candidates []route.Candidate) route.Composition {
	if len(candidates) == 0 {
		return route.Composition{Default: implicit}
	}
	if candidates[0].Connections {
		return composeTCP(candidates)
	}
	var written []*route.Rule // strongest first
	for _, c := range slices.Backward(candidates) {
		for i := range c.Rules {
			written = append(written, &c.Rules[i])
		}
	}
	groups := merge.ByKey(written, func(r **route.Rule) string { return (*r).Payload.(*rule).key })
	rules := make([]*route.MergedRule, len(groups))
	for i, group := range groups {
		rules[i] = merged(group)
	}
	out := route.Composition{Rows: route.Ordered(rules, Compare)}
	if !slices.ContainsFunc(out.Rows, func(r route.Row) bool { return r.Match.Everything() }) {
		out.Default = implicit
	}
	return out
}

// merged is one rule of those with one match key, strongest first.
func merged(group []*route.Rule) *route.MergedRule {
	var redirect *route.Redirect
	key := group[0].Payload.(*rule).key
	out := &route.MergedRule{Key: key, Name: key, Matches: group[0].Matches, Do: route.Passthrough{}, Origins: make([]*api.Origin, len(group))}
	for i, r := range group {
		out.Origins[len(group)-1-i] = r.Origin
		says := r.Payload.(*rule)
		if out.FiltersBy == nil && says.filters != nil {
			out.Filters, out.FiltersBy, redirect = says.filters, r.Origin, says.redirect
		} else if len(says.filters) > 0 || says.redirect != nil {
			out.SupersededLists = append(out.SupersededLists, route.SupersededList{Origin: r.Origin, Filters: says.filters, Redirect: says.redirect})
		}
		if out.ActionBy == nil && says.backends != nil {
			out.ActionBy = r.Origin
			if len(says.backends) > 0 {
				out.Do = &route.Forward{Backends: says.backends, NoBackend: route.Respond{Status: lost}}
			}
		} else if len(says.backends) > 0 {
			out.SupersededLists = append(out.SupersededLists, route.SupersededList{Origin: r.Origin, Backends: says.backends})
		}
	}
	if redirect != nil { // takes the place of whatever the backends are
		if do, ok := out.Do.(*route.Forward); ok && out.ActionBy != out.FiltersBy {
			out.SupersededLists = append(out.SupersededLists, route.SupersededList{Origin: out.ActionBy, Backends: do.Backends})
		}
		out.Do, out.ActionBy = redirect, out.FiltersBy
	}
	return out
}
