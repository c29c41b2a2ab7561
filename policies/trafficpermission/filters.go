package trafficpermission

import (
	"slices"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	httprbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcprbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/xds/envoy"
)

// The instances of the filter, by which routes configure them (spec/identity.md 3.4). What
// is refused is decided before what is allowed; shadowFilter sees what both let pass, so that
// it counts what shadows would change and nothing else; plainFilter is for callers without
// an identity.
const (
	denyFilter   = "weft.rbac.deny"
	allowFilter  = "weft.rbac.allow"
	shadowFilter = "weft.rbac.shadow"
	plainFilter  = "weft.rbac.plain"
	shadowPrefix = "weft_"
	// nobody counts what nothing would allow, were shadows real.
	nobody = "nobody"
)

// proving are the filters of a chain whose callers have proved a name, in their order. They
// are closed: a route about which nothing is said lets nobody in (F13).
func proving() []*hcmv3.HttpFilter {
	return []*hcmv3.HttpFilter{
		instance(denyFilter, &httprbacv3.RBAC{RulesStatPrefix: deny, TrackPerRuleStats: true}),
		instance(allowFilter, &httprbacv3.RBAC{Rules: closed(), RulesStatPrefix: allow, TrackPerRuleStats: true}),
		instance(shadowFilter, &httprbacv3.RBAC{RulesStatPrefix: "shadow", ShadowRulesStatPrefix: shadowPrefix, TrackPerRuleStats: true}),
	}
}

// unproved is the filter of a chain whose callers have proved nothing. It lets in, and counts
// as a shadow what a strict inbound would refuse.
func unproved() []*hcmv3.HttpFilter {
	return []*hcmv3.HttpFilter{instance(plainFilter, open())}
}

func open() *httprbacv3.RBAC {
	return &httprbacv3.RBAC{ShadowRules: closed(), RulesStatPrefix: "plain", ShadowRulesStatPrefix: shadowPrefix, TrackPerRuleStats: true}
}

func closed() *rbacv3.RBAC { return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW} }

func instance(name string, config *httprbacv3.RBAC) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(config)}}
}

// configure puts the permissions into what a host or a route says to the filters. Domains
// are those whose names the inbound believes, sorted.
func (p *Permissions) configure(filters *map[string]*anypb.Any, domains []string) {
	of := view{proved: true, requests: true}
	set := func(name string, config *httprbacv3.RBAC) {
		config.TrackPerRuleStats, config.ShadowRulesStatPrefix = true, shadowPrefix
		envoy.Configure(filters, name, &httprbacv3.RBACPerRoute{Rbac: config})
	}
	if len(p.Each) > 0 {
		p.configureAll(domains, set)
		return
	}
	set(denyFilter, &httprbacv3.RBAC{Rules: p.denies(of, domains)})
	set(allowFilter, &httprbacv3.RBAC{Rules: of.rules(rbacv3.RBAC_ALLOW, p.Allow, nil)})
	if p.Trial != nil {
		set(shadowFilter, &httprbacv3.RBAC{ShadowRules: p.tries(of)})
	} else {
		set(shadowFilter, &httprbacv3.RBAC{})
	}
	plain := open()
	if p.Anonymous {
		plain.Rules = p.whole(view{requests: true})
	}
	set(plainFilter, plain)
}

// denies are override.deny, and every other deny over which no override allows.
func (p *Permissions) denies(of view, domains []string) *rbacv3.RBAC {
	above, below := tiers(p.Deny, OverrideDenies)
	allowed, _ := tiers(p.Allow, OverrideAllows)
	out := of.rules(rbacv3.RBAC_DENY, above, nil)
	for name, policy := range of.rules(rbacv3.RBAC_DENY, below, allowed).Policies {
		out.Policies[name] = policy
	}
	if of.proved {
		for name, policy := range pairs(domains) {
			out.Policies[name] = policy
		}
	}
	return out
}

// tries refuses, of what is allowed, what would be refused were shadows real.
func (p *Permissions) tries(of view) *rbacv3.RBAC {
	out := p.Trial.denies(of, nil)
	always := []*Entry{{Name: nobody}}
	for name, policy := range of.rules(rbacv3.RBAC_DENY, always, p.Trial.Allow).Policies {
		out.Policies[name] = policy
	}
	return out
}

// whole is all of p in one filter, for callers that ask for no name in TLS.
func (p *Permissions) whole(of view) *rbacv3.RBAC {
	overDenies, denies := tiers(p.Deny, OverrideDenies)
	overAllows, allows := tiers(p.Allow, OverrideAllows)
	out := of.rules(rbacv3.RBAC_ALLOW, overAllows, overDenies)
	for name, policy := range of.rules(rbacv3.RBAC_ALLOW, allows, slices.Concat(overDenies, denies)).Policies {
		out.Policies[name] = policy
	}
	return out
}

// tiers splits a list into the entries of one tier and the others.
func tiers(list []*Entry, of Tier) (in, out []*Entry) {
	for _, e := range list {
		if e.Tier == of {
			in = append(in, e)
		} else {
			out = append(out, e)
		}
	}
	return in, out
}

// connections are the filters of a chain in which nobody reads requests: Envoy asks them at
// the first byte of the caller (F10). No permissions, nil, let nobody in who has proved a
// name.
func (p *Permissions) connections(proved bool, domains []string) []*listenerv3.Filter {
	of := view{proved: proved}
	if p == nil {
		p = &Permissions{}
	}
	if !proved && !p.Anonymous {
		return []*listenerv3.Filter{connection("plain", nil, closed())}
	}
	out := []*listenerv3.Filter{
		connection(deny, p.denies(of, domains), nil),
		connection(allow, of.rules(rbacv3.RBAC_ALLOW, p.Allow, nil), nil),
	}
	if p.Trial != nil {
		out = append(out, connection("shadow", nil, p.tries(of)))
	}
	return out
}

func connection(what string, rules, shadow *rbacv3.RBAC) *listenerv3.Filter {
	return &listenerv3.Filter{Name: "weft.rbac." + what, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(&tcprbacv3.RBAC{
		StatPrefix: what + ".", Rules: rules, ShadowRules: shadow, ShadowRulesStatPrefix: shadowPrefix})}}
}

// callers are the names of which a caller needs one so that a connection is let in, for the
// handshake to refuse all others before the workload says a word (F10); not ok where the
// verdict is no union of names.
func (p *Permissions) callers() (names []*matcherv3.StringMatcher, ok bool) {
	of := view{proved: true}
	for _, e := range p.Deny {
		if of.possible(&e.holds) {
			return nil, false
		}
	}
	for _, e := range p.Allow {
		c := &e.holds
		if !of.possible(c) {
			continue
		}
		if len(c.names) != 1 || c.sni != "" || len(c.unless) > 0 {
			return nil, false
		}
		names = append(names, c.names[0].names()...)
	}
	return names, true
}
