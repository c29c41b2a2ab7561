package kuma

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
)

// RouteList is GET …/_outbounds/{kri}/_routes.
type RouteList struct {
	Routes []KindRoutes `json:"routes"`
}

// KindRoutes are the routes of one kind.
type KindRoutes struct {
	Kind    string      `json:"kind"`
	Origins []KRIOrigin `json:"origins"`
	Rules   []RouteRule `json:"rules"`
}

// RouteRule is one merged rule; one without matches is for connections.
type RouteRule struct {
	KRI     string        `json:"kri"` // no other rule of the outbound has it
	Matches []match.Match `json:"matches"`
	// ServerName is the name in TLS for which clients ask whose connections the rule is for.
	ServerName string `json:"serverName,omitempty"`
	// Conf is what a MeshHTTPRoute, or of connections a MeshTCPRoute, would have as default, with
	// otherActions for what they have no words for.
	Conf any `json:"conf"`
}

// Routes is GET …/_outbounds/{kri}/_routes.
func Routes(m *resolve.Reader, c *api.Catalog, dp api.Ref, kri string) (RouteList, error) {
	x := kris{m, c}
	o, err := x.outbound(dp, kri)
	if err != nil {
		return RouteList{}, err
	}
	out := RouteList{Routes: []KindRoutes{}}
	origins := map[string][]*api.Origin{}
	for _, rule := range x.rules(o) {
		kind := rule.by.Kind
		i := slices.IndexFunc(out.Routes, func(k KindRoutes) bool { return k.Kind == kind })
		if i < 0 {
			i, out.Routes = len(out.Routes), append(out.Routes, KindRoutes{Kind: kind})
		}
		k := &out.Routes[i]
		k.Rules = append(k.Rules, rule.shown(m))
		origins[kind] = append(origins[kind], rule.origins()...)
	}
	for i := range out.Routes {
		k := &out.Routes[i]
		k.Origins = x.origins(weakestFirst(m, origins[k.Kind]))
	}
	return out, nil
}

// listedRule is a written rule of an outbound: of requests, or of connections.
type listedRule struct {
	kri         string
	by          *api.Origin // whose word holds, which gives it its name
	requests    *effective.Route
	connections *effective.TCPTable
	serverName  string
}

func (r *listedRule) origins() []*api.Origin {
	if r.requests != nil {
		return r.requests.Origins
	}
	return r.connections.Origins
}

// policies are those that act on the rule.
func (r *listedRule) policies(o *effective.Outbound) effective.Policies {
	if r.requests != nil {
		return r.requests.Acting()
	}
	return o.Policies
}

func (r *listedRule) shown(m *resolve.Reader) RouteRule {
	if r.requests != nil {
		return RouteRule{KRI: r.kri, Matches: r.requests.Matches, Conf: routeConfOf(m, r.requests)}
	}
	return RouteRule{KRI: r.kri, Matches: []match.Match{}, ServerName: r.serverName, Conf: connectionConfOf(m, r.connections)}
}

// rules are the written rules of an outbound, each by a name of its own: that of the rule of the
// document that holds, with a number from the second rule on that comes of it.
func (x kris) rules(o *effective.Outbound) (out []listedRule) {
	named := map[string]int{}
	add := func(r listedRule) {
		r.kri = x.of(r.by.Ref, section(r.by))
		named[r.kri]++
		if n := named[r.kri]; n > 1 {
			r.kri += "." + strconv.Itoa(n)
		}
		out = append(out, r)
	}
	if o.Table != nil {
		for rt := range writtenRulesOf(o.Table) {
			add(listedRule{by: rt.Origins[len(rt.Origins)-1], requests: rt})
		}
		return out
	}
	if t := o.TCP; t != nil {
		if t.BackendsBy != nil {
			add(listedRule{by: t.BackendsBy, connections: t})
		}
		for _, s := range t.ServerNames {
			if s.BackendsBy != nil {
				add(listedRule{by: s.BackendsBy, connections: s.TCPTable, serverName: s.Name})
			}
		}
	}
	return out
}

// ruleNamed is the rule of an outbound that a KRI names: by the name that it has itself, else the first
// to which the rule or the object of that name has contributed. It is nil where there is none.
func (x kris) ruleNamed(o *effective.Outbound, kri string) *listedRule {
	rules := x.rules(o)
	for _, is := range []func(*listedRule) bool{
		func(r *listedRule) bool { return r.kri == kri },
		func(r *listedRule) bool { return same(kri, r.kri) },
		func(r *listedRule) bool {
			return slices.ContainsFunc(r.origins(), func(o *api.Origin) bool {
				return same(kri, x.of(o.Ref, "")) || same(kri, x.of(o.Ref, section(o)))
			})
		},
	} {
		if i := slices.IndexFunc(rules, func(r listedRule) bool { return is(&r) }); i >= 0 {
			return &rules[i]
		}
	}
	return nil
}

// section is the KRI section of a rule: the entry of to that it stands in, or itself where a route
// has none; further rules of an entry have their own number behind it.
func section(o *api.Origin) string {
	first, further := cmp.Or(o.To, o.Rule), o.Rule
	if first == nil {
		return ""
	}
	text := "rule_" + strconv.Itoa(*first)
	if o.To != nil && further != nil && *further > 0 {
		text += "-" + strconv.Itoa(*further)
	}
	return text
}
