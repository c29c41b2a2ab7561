package kuma

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/match"
)

// writtenRules are rules in the form of a MeshHTTPRoute document.
type writtenRules struct {
	Rules []writtenRule `json:"rules"`
}

type writtenRule struct {
	Matches []match.Match `json:"matches"`
	Default routeConf     `json:"default"`
}

// routeConfs is what the rules of routes come to for one destination.
func (x *viewBuilder) routeConfs(t *effective.Table) (conf writtenRules, origins []*api.Origin) {
	conf.Rules = []writtenRule{}
	for rt := range writtenRulesOf(t) {
		x.hashes[rt.Key] = rt.Matches
		conf.Rules = append(conf.Rules, writtenRule{rt.Matches, routeConfOf(x.model, rt)})
		origins = append(origins, rt.Origins...)
	}
	return conf, weakestFirst(x.model, origins)
}

// weakestFirst are origins of rules, one of each entry, in the order in which their routes override each
// other: the rules themselves stand in the order in which requests are matched.
func weakestFirst(m *resolve.Reader, origins []*api.Origin) []*api.Origin {
	seen := make(map[string]bool, len(origins))
	out := make([]*api.Origin, 0, len(origins))
	for _, o := range origins {
		if key := o.Ref.String() + "#" + section(o); !seen[key] {
			seen[key] = true
			out = append(out, o)
		}
	}
	slices.SortStableFunc(out, m.CompareRoutes)
	return out
}

// requestConf is what routes say about the requests of one outbound.
func (x *viewBuilder) requestConf(o *effective.Outbound) (conf any, origins []*api.Origin) {
	if o.Table == nil || !x.model.Visit() {
		return nil, nil
	}
	return x.routeConfs(o.Table)
}

// connectionConf is what routes say about the connections of one outbound, in the form of a rule
// of a MeshTCPRoute.
func (x *viewBuilder) connectionConf(o *effective.Outbound) (conf any, origins []*api.Origin) {
	if o.TCP == nil || o.TCP.BackendsBy == nil || !x.model.Visit() {
		return nil, nil
	}
	return kuma.TCPRule{Default: connectionConfOf(x.model, o.TCP)}, o.TCP.Origins
}

// routeRules is what routes of a kind say: for every service that the dataplane
// calls, and for each real one as a resource; once for all ports of a service
// that no route tells apart.
func (x *viewBuilder) routeRules(kind string, say func(*effective.Outbound) (conf any, origins []*api.Origin)) KindRules {
	k := KindRules{Type: kind, Warnings: []string{}, ToRules: []ToRule{}, FromRules: []FromRules{}, ToResourceRules: []ResourceRule{}, InboundRules: []InboundRules{}}
	services, sections := map[string]bool{}, map[resourceKey]bool{}
	for _, o := range x.plane.Outbounds {
		conf, origins := say(o)
		d := o.Destination
		if len(origins) == 0 {
			continue
		}
		if !services[d.Name] {
			services[d.Name] = true
			k.ToRules = append(k.ToRules, ToRule{Matchers: []Matcher{{Key: api.TagService, Value: d.Name}}, Conf: conf, Origin: x.metas(origins)})
		}
		a := resourceKey{d.Ref, x.section(d, origins)}
		if d.Ref.Name != "" && !sections[a] {
			sections[a] = true
			k.ToResourceRules = append(k.ToResourceRules, ResourceRule{x.meta(d.Ref), a.section, []any{conf}, x.itemOrigins(origins)})
		}
	}
	slices.SortStableFunc(k.ToResourceRules, func(a, b ResourceRule) int { return cmp.Compare(a.ResourceMeta.Name, b.ResourceMeta.Name) })
	return k
}

// section is the port that routes are about; empty where none of them names one.
func (x *viewBuilder) section(d *effective.Destination, origins []*api.Origin) string {
	for _, o := range origins {
		r, ok := x.model.Route(o.Ref)
		if !ok || o.To == nil {
			continue
		}
		for _, e := range r.Entries {
			if e.Index == *o.To && e.To.SectionName != "" {
				return d.PortName
			}
		}
	}
	return ""
}
