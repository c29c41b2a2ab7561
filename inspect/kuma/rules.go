// Package kuma answers the questions of Kuma's inspect API in its shapes
// (spec/kuma.md 5.2 and 5.4). It selects nothing itself: which items are about
// what, and what became of them, was decided in package resolve.
package kuma

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/inspect"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/kuma"
	"github.com/weftmesh/weft/route/match"
)

// RulesView is GET …/dataplanes/{dp}/_rules.
type RulesView struct {
	Resource    *Meta       `json:"resource"`
	HTTPMatches []HTTPMatch `json:"httpMatches"`
	Rules       []KindRules `json:"rules"`
}

// HTTPMatch says what a __rule-matches-hash__ stands for.
type HTTPMatch struct {
	Hash  string        `json:"hash"`
	Match []match.Match `json:"match"`
}

// KindRules is what the policies of one kind say.
type KindRules struct {
	Type            string         `json:"type"`
	Warnings        []string       `json:"warnings"`
	ProxyRule       *ProxyRule     `json:"proxyRule,omitempty"` // of a kind in the single form
	ToRules         []ToRule       `json:"toRules"`
	FromRules       []FromRules    `json:"fromRules"`
	ToResourceRules []ResourceRule `json:"toResourceRules"`
	InboundRules    []InboundRules `json:"inboundRules"`
}

// ProxyRule is what holds on a dataplane as a whole.
type ProxyRule struct {
	Conf   any     `json:"conf"`
	Origin []*Meta `json:"origin"` // weakest first
}

// ToRule is a subset rule.
type ToRule struct {
	Matchers []Matcher `json:"matchers"`
	Conf     any       `json:"conf"`
	Origin   []*Meta   `json:"origin"` // weakest first
}

// FromRules are the subset rules of one inbound.
type FromRules struct {
	Inbound InboundMeta `json:"inbound"`
	Rules   []ToRule    `json:"rules"`
}

// InboundMeta names an inbound.
type InboundMeta struct {
	Name string            `json:"name,omitempty"`
	Port uint32            `json:"port"`
	Tags map[string]string `json:"tags"`
}

// ResourceRule is what holds for one real resource.
type ResourceRule struct {
	ResourceMeta        *Meta        `json:"resourceMeta"`
	ResourceSectionName string       `json:"resourceSectionName"`
	Conf                []any        `json:"conf"`
	Origin              []ItemOrigin `json:"origin"` // weakest first
}

// ItemOrigin is an item of a policy.
type ItemOrigin struct {
	ResourceMeta *Meta `json:"resourceMeta"`
	RuleIndex    int   `json:"ruleIndex"`
}

// InboundRules are what rules say about one inbound.
type InboundRules struct {
	Inbound InboundMeta   `json:"inbound"`
	Rules   []InboundRule `json:"rules"`
}

// InboundRule is one of them.
type InboundRule struct {
	Match  any          `json:"match"`
	Conf   []any        `json:"conf"`
	Origin []ItemOrigin `json:"origin"` // weakest first
}

// matchesHash is Kuma's made-up tag for the matches of a route's rule.
const matchesHash = "__rule-matches-hash__"

// viewBuilder makes the view of one dataplane.
type viewBuilder struct {
	model   *resolve.Reader
	catalog *api.Catalog
	plane   *effective.Resolved
	hashes  map[string][]match.Match
	notes   []api.Note
	named   map[*api.Origin]*Meta
	known   *resolve.QueryCache[*api.Object, *Meta]
}

func newViewBuilder(m *resolve.Reader, c *api.Catalog, r *effective.Resolved) *viewBuilder {
	return &viewBuilder{model: m, catalog: c, plane: r, hashes: map[string][]match.Match{}, named: map[*api.Origin]*Meta{}, known: metasOf(m, c)}
}

// Rules is Kuma's view of all rules of a dataplane.
func Rules(m *resolve.Reader, c *api.Catalog, dp api.Ref) (RulesView, error) {
	r, err := inspect.Dataplane(m, dp)
	if err != nil {
		return RulesView{}, err
	}
	x := newViewBuilder(m, c, r)
	x.notes = m.NotesAt(dp)
	v := RulesView{Resource: x.meta(r.Ref), HTTPMatches: []HTTPMatch{}, Rules: []KindRules{}}
	for _, k := range []KindRules{x.routeRules(kuma.KindHTTPRoute, x.requestConf), x.routeRules(kuma.KindTCPRoute, x.connectionConf)} {
		if len(k.ToRules)+len(k.ToResourceRules) > 0 {
			v.Rules = append(v.Rules, k)
		}
	}
	for _, kind := range pluginOrder(m.Kinds()) {
		k := x.kindRules(kind)
		if len(k.ToRules)+len(k.FromRules)+len(k.ToResourceRules)+len(k.InboundRules)+len(k.Warnings) > 0 || k.ProxyRule != nil {
			v.Rules = append(v.Rules, k)
		}
	}
	for _, h := range slices.Sorted(maps.Keys(x.hashes)) {
		v.HTTPMatches = append(v.HTTPMatches, HTTPMatch{h, x.hashes[h]})
	}
	return v, nil
}

// pluginOrder is the order in which Kuma lists kinds (spec/kuma.md 3).
func pluginOrder(kinds []*policies.Kind) []*policies.Kind {
	order := []string{"MeshRateLimit", "MeshTimeout", "MeshRetry"}
	out := slices.Clone(kinds)
	slices.SortStableFunc(out, func(a, b *policies.Kind) int {
		return cmp.Compare(slices.Index(order, a.Name), slices.Index(order, b.Name))
	})
	return out
}

// metas names the objects behind origins, each once, where its strongest word stands.
func (x *viewBuilder) metas(origins []*api.Origin) []*Meta {
	out := make([]*Meta, 0, len(origins))
	for _, o := range lastOf(origins, ofOneObject) {
		out = append(out, x.author(o))
	}
	return out
}

func (x *viewBuilder) kindRules(kind *policies.Kind) KindRules {
	k := KindRules{Type: kind.Name, Warnings: []string{}, ToRules: []ToRule{}, FromRules: []FromRules{}, ToResourceRules: []ResourceRule{}, InboundRules: []InboundRules{}}
	matched := x.model.Matched(x.plane.Ref, kind.Name)
	items := matched.Items()
	for _, n := range x.notes {
		if n.Code == "TargetNotFound" && n.Origin.Kind == kind.Name {
			k.Warnings = append(k.Warnings, "could not resolve "+terminal.OriginText(n.Origin)+": "+n.Message)
		}
	}
	if kind.Single {
		return x.singleRules(k, kind, items)
	}
	rules, cut := subsetRules(kind, x.toItems(kind, items), false)
	k.ToRules = append(k.ToRules, x.toRules(rules)...)
	for _, in := range x.plane.Inbounds {
		list, more := subsetRules(kind, fromItems(matched, in.Inbound), true)
		cut = cut || more
		if len(list) > 0 {
			k.FromRules = append(k.FromRules, FromRules{inboundMeta(in.Inbound), x.toRules(list)})
		}
		if list := x.inboundRules(kind, in.Inbound); len(list) > 0 {
			k.InboundRules = append(k.InboundRules, InboundRules{inboundMeta(in.Inbound), list})
		}
	}
	if cut {
		k.Warnings = append(k.Warnings, cutRules())
	}
	k.ToResourceRules = append(k.ToResourceRules, x.resourceRules(kind, items)...)
	return k
}

// singleRules are those of a kind in the single form: one of the dataplane, and where something is
// attached to routes what holds at their rules.
func (x *viewBuilder) singleRules(k KindRules, kind *policies.Kind, items []resolve.Item) KindRules {
	if conf, origins := folded(kind, wholeItems(items)); len(origins) > 0 {
		k.ProxyRule = &ProxyRule{Conf: conf, Origin: x.metas(origins)}
	}
	if at := x.attached(kind, items); len(at) > 0 {
		rules, cut := subsetRules(kind, wholeItems(items, at...), false)
		if k.ToRules = append(k.ToRules, x.toRules(rules)...); cut {
			k.Warnings = append(k.Warnings, cutRules())
		}
	}
	return k
}

// wholeItems are those of documents in the single form that are attached to no route, in the order in
// which they are effective among what is attached.
func wholeItems(items []resolve.Item, attached ...atRule) []tagged {
	var whole []tagged
	for i := range items {
		if it := &items[i]; !it.Spec.Top().IsRoute() {
			whole = append(whole, tagged{origin: it.Origin, item: it})
		}
	}
	return inMergeOrderOf(whole, attached...)
}

func cutRules() string {
	return fmt.Sprintf("there are more than %d rules; the view is cut, what is effective is not", maxRules)
}

func inboundMeta(in *effective.Inbound) InboundMeta {
	tags := in.Tags
	if tags == nil {
		tags = map[string]string{}
	}
	return InboundMeta{Name: in.Name, Port: in.Port, Tags: tags}
}

func (x *viewBuilder) toRules(rules []subsetRule) []ToRule {
	out := make([]ToRule, len(rules))
	for i, r := range rules {
		out[i] = ToRule{Matchers: r.matchers, Conf: r.conf, Origin: x.metas(r.origins)}
		if r.matchers == nil {
			out[i].Matchers = []Matcher{}
		}
	}
	return out
}

// inboundRules are what rules say of those callers whom their matches tell apart, as Envoy asks for them, and then
// of everybody.
func (x *viewBuilder) inboundRules(kind *policies.Kind, in *effective.Inbound) (out []InboundRule) {
	of := func(ps effective.Policies) (InboundRule, bool) {
		if e := ps.Of(kind.Name); e != nil {
			return x.inboundRule(e)
		}
		return InboundRule{}, false
	}
	all, everybody := of(in.Policies)
	for _, c := range in.Callers {
		if c.Also != "" { // whom items of from tell apart
			continue
		}
		if own, ok := of(c.Policies); ok && !slices.Equal(own.Origin, all.Origin) { // else another kind tells them apart
			own.Match = policies.ClientMatch{SpiffeID: new(c.Match())}
			out = append(out, own)
		}
	}
	if everybody {
		out = append(out, all)
	}
	return out
}

// inboundRule is what rules say; ok is false where only from speaks. Of a kind whose items add up
// instead of replacing each other it has what each says, in the order of the origins.
func (x *viewBuilder) inboundRule(e *policies.Effective) (InboundRule, bool) {
	conf, origins := onlySaid(e, func(s merge.Said) bool { return strings.HasPrefix(string(s.Origin.Field), "spec.rules") })
	out := InboundRule{Conf: []any{conf}, Origin: x.itemOrigins(origins)}
	if e.Kind.Authorizer != nil {
		out.Conf = []any{}
		for _, o := range origins {
			own, _ := onlySaid(e, func(s merge.Said) bool { return s.Origin.Same(o) })
			out.Conf = append(out.Conf, own)
		}
	}
	return out, len(origins) > 0
}
