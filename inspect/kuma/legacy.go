package kuma

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
)

// LegacyRules is GET …/dataplanes/{dp}/rules, with the matches that the Kuma
// design adds.
type LegacyRules struct {
	Total int          `json:"total"`
	Items []LegacyRule `json:"items"`
}

// LegacyRule is what the policies of one kind come to at one place.
type LegacyRule struct {
	Type       string            `json:"type"` // DestinationSubset, ClientSubset, SingleItem
	Name       string            `json:"name"`
	Addresses  []string          `json:"addresses"`
	Service    string            `json:"service"`
	Tags       map[string]string `json:"tags"`
	PolicyType string            `json:"policyType"`
	Subset     map[string]string `json:"subset"` // value, or !value
	// Matches are set where a policy is attached to the route that has them.
	Matches []match.Match  `json:"matches,omitempty"`
	Conf    any            `json:"conf"`
	Origins []LegacyOrigin `json:"origins"` // weakest first
	order   int
}

// LegacyOrigin names a policy, with its namespace as everywhere in Kuma.
type LegacyOrigin struct {
	Mesh string `json:"mesh"`
	Name string `json:"name"`
}

// Legacy is what is effective on a dataplane in that older form.
func Legacy(m *resolve.Reader, dp api.Ref) (LegacyRules, error) {
	r, err := inspect.Dataplane(m, dp)
	if err != nil {
		return LegacyRules{}, err
	}
	v := LegacyRules{Items: []LegacyRule{}}
	places := map[string][]*effective.Outbound{}
	for _, o := range r.Outbounds {
		places[o.Destination.ID] = append(places[o.Destination.ID], o)
	}
	for _, id := range slices.Sorted(maps.Keys(places)) {
		v.Items = append(v.Items, toDestination(places[id])...)
	}
	for _, kind := range m.Kinds() {
		matched := m.Matched(dp, kind.Name)
		if kind.Single {
			if item, ok := ofDataplane(r, kind, matched); ok {
				v.Items = append(v.Items, item)
			}
			continue
		}
		for _, in := range r.Inbounds {
			rules, _ := subsetRules(kind, fromItems(matched, in.Inbound), true)
			for _, rule := range rules {
				v.Items = append(v.Items, fromClients(in.Inbound, kind, rule))
			}
		}
	}
	slices.SortStableFunc(v.Items, func(a, b LegacyRule) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type), cmp.Compare(a.PolicyType, b.PolicyType), cmp.Compare(a.order, b.order))
	})
	v.Total = len(v.Items)
	return v, nil
}

// toDestination has an item for each kind and route that it is attached to, and
// one for what holds without a route.
func toDestination(at []*effective.Outbound) []LegacyRule {
	o := at[0]
	base := LegacyRule{Type: "DestinationSubset", Name: o.Destination.Name, Service: o.Destination.Name,
		Tags: map[string]string{api.TagService: o.Destination.Name}, Subset: map[string]string{}}
	for _, x := range at {
		base.Addresses = append(base.Addresses, fmt.Sprintf("%s:%d", x.Address, x.Port))
	}
	var out []LegacyRule
	add := func(e *policies.Effective, matches []match.Match) {
		item := base
		conf, origins := onlySaid(e, documents)
		item.PolicyType, item.Matches, item.Conf, item.Origins, item.order = e.Kind.Name, matches, conf, legacyOrigins(origins), len(out)
		out = append(out, item)
	}
	if o.Table != nil {
		for rt := range rulesOf(o.Table) {
			for _, e := range rt.Acting() {
				if ofRoute(e) {
					add(e, rt.Matches)
				}
			}
		}
	}
	for _, e := range o.Policies {
		if !e.Kind.Single { // which has an item of its own
			add(e, nil)
		}
	}
	return out
}

// ofDataplane is what holds by a kind in the single form on a dataplane as a whole; not ok where
// nothing does.
func ofDataplane(r *effective.Resolved, kind *policies.Kind, matched *resolve.Matched) (LegacyRule, bool) {
	conf, origins := folded(kind, wholeItems(matched.Items()))
	item := LegacyRule{Type: "SingleItem", Name: r.Ref.FullName(), Addresses: []string{}, Tags: map[string]string{}, PolicyType: kind.Name,
		Subset: map[string]string{}, Conf: conf, Origins: legacyOrigins(origins)}
	return item, len(origins) > 0
}

// ofRoute reports whether something is said of the route alone. Where nothing is,
// what holds for the destination holds for the route.
func ofRoute(e *policies.Effective) bool {
	return slices.ContainsFunc(e.Fields, func(f merge.Field) bool {
		return slices.ContainsFunc(f.Said, func(s merge.Said) bool { return s.Layer > merge.Port })
	})
}

func legacyOrigins(origins []*api.Origin) []LegacyOrigin {
	out := []LegacyOrigin{}
	for _, o := range lastOf(origins, ofOneObject) {
		out = append(out, LegacyOrigin{o.Mesh, o.FullName()})
	}
	return out
}

func fromClients(in *effective.Inbound, kind *policies.Kind, rule subsetRule) LegacyRule {
	tags := inboundMeta(in).Tags
	item := LegacyRule{Type: "ClientSubset", Name: cmp.Or(tags[api.TagService], in.Name), Addresses: []string{fmt.Sprintf("%s:%d", in.Address, in.Port)},
		Service: tags[api.TagService], Tags: tags, PolicyType: kind.Name, Subset: map[string]string{}, Conf: rule.conf, Origins: legacyOrigins(rule.origins)}
	for _, m := range rule.matchers {
		if m.Not {
			item.Subset[m.Key] = "!" + m.Value
		} else {
			item.Subset[m.Key] = m.Value
		}
	}
	return item
}
