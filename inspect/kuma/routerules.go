package kuma

import (
	"cmp"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/kuma"
)

// writtenRules are rules in the form of a MeshHTTPRoute document.
type writtenRules struct {
	Rules []writtenRule `json:"rules"`
}

type writtenRule struct {
	Matches []route.Match `json:"matches"`
	Default kuma.Default  `json:"default"`
}

// routeConf is what a MeshHTTPRoute's own rules come to for one destination.
func (x *viewBuilder) routeConf(t *resolve.Table) (conf writtenRules, origins []*api.Origin) {
	conf.Rules = []writtenRule{}
	for rt := range writtenRulesOf(t) {
		x.hashes[rt.Key] = rt.Matches
		conf.Rules = append(conf.Rules, writtenRule{rt.Matches, x.documentConf(rt)})
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

// documentConf is the conf of a merged rule as documents spell it: of each list
// the strongest that is there.
func (x *viewBuilder) documentConf(rt *resolve.Route) kuma.Default {
	var d kuma.Default
	for _, o := range slices.Backward(rt.Origins) {
		r := x.written(o)
		if r == nil {
			continue
		}
		if d.Filters == nil {
			d.Filters = r.Default.Filters
		}
		if d.BackendRefs == nil {
			d.BackendRefs = r.Default.BackendRefs
		}
	}
	return d
}

// written is the rule of a MeshHTTPRoute that an origin names.
func (x *viewBuilder) written(o *api.Origin) *kuma.Rule {
	if o == nil || o.To == nil || o.Rule == nil {
		return nil
	}
	if obj, ok := x.model.Snapshot().Get(o.Ref); ok {
		if spec, ok := obj.Spec.(*kuma.HTTPRoute); ok {
			return &spec.To[*o.To].Rules[*o.Rule]
		}
	}
	return nil
}

// requestConf is what MeshHTTPRoutes say about one outbound.
func (x *viewBuilder) requestConf(o *resolve.Outbound) (conf any, origins []*api.Origin) {
	if o.Table == nil || !x.model.Visit() {
		return nil, nil
	}
	return x.routeConf(o.Table)
}

// connectionConf is what MeshTCPRoutes say about one outbound, in the form of a
// rule of theirs.
func (x *viewBuilder) connectionConf(o *resolve.Outbound) (conf any, origins []*api.Origin) {
	if o.TCP == nil || o.TCP.BackendsBy == nil || !x.model.Visit() {
		return nil, nil
	}
	return kuma.TCPRule{Default: x.connections(o.TCP)}, o.TCP.Origins
}

// connections is the list of backends that holds, as its document spells it.
func (x *viewBuilder) connections(t *resolve.TCPTable) kuma.TCPDefault {
	by := t.BackendsBy
	if obj, ok := x.model.Snapshot().Get(by.Ref); ok && by.To != nil && by.Rule != nil {
		if spec, ok := obj.Spec.(*kuma.TCPRoute); ok {
			return spec.To[*by.To].Rules[*by.Rule].Default
		}
	}
	return kuma.TCPDefault{}
}

// routeRules is what routes of a kind say: for every service that the dataplane
// calls, and for each real one as a resource; once for all ports of a service
// that no route tells apart.
func (x *viewBuilder) routeRules(kind string, say func(*resolve.Outbound) (conf any, origins []*api.Origin)) KindRules {
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
func (x *viewBuilder) section(d *resolve.Destination, origins []*api.Origin) string {
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
