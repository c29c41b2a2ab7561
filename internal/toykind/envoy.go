package toykind

import (
	"maps"
	"slices"
	"strings"

	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	httprbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/rbac/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcprbacv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// filter is the instance by which routes configure it.
const filter = "toy.guests"

// GuardRequests is a filter that lets everybody in until a route says who its guests are.
func (*Conf) GuardRequests(at envoy.Place) []*hcmv3.HttpFilter {
	if at.Chain != envoy.MTLS {
		return nil
	}
	return []*hcmv3.HttpFilter{{Name: filter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&httprbacv3.RBAC{})}}}
}

// GuardConnections is a filter of its own where nobody reads requests.
func (*Conf) GuardConnections(conf policies.Conf, at envoy.Place) []*listenerv3.Filter {
	e, ok := conf.(*Effective)
	if !ok || at.Chain != envoy.MTLS {
		return nil
	}
	return []*listenerv3.Filter{{Name: filter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(&tcprbacv3.RBAC{StatPrefix: "guests.", Rules: e.rules()})}}}
}

// Callers leaves to other kinds whom the handshake refuses.
func (*Conf) Callers(policies.Conf) ([]*matcherv3.StringMatcher, bool) { return nil, false }

// Revoked is nobody.
func (*Conf) Revoked(policies.Conf) []string { return nil }

// WriteInbound is what holds for all requests of an inbound, or for those of one route.
func (e *Effective) WriteInbound(filters *map[string]*anypb.Any, at envoy.Place) {
	if at.Chain != envoy.Unguarded {
		envoy.Configure(filters, filter, &httprbacv3.RBACPerRoute{Rbac: &httprbacv3.RBAC{Rules: e.rules()}})
	}
}

// rules allow who is on every list.
func (e *Effective) rules() *rbacv3.RBAC {
	of := &rbacv3.Policy{Permissions: []*rbacv3.Permission{{Rule: &rbacv3.Permission_Any{Any: true}}}}
	var every []*rbacv3.Principal
	for _, list := range e.lists {
		var one []*rbacv3.Principal
		for _, g := range list {
			one = append(one, g.principal())
		}
		if len(one) == 0 {
			return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW}
		}
		every = append(every, &rbacv3.Principal{Identifier: &rbacv3.Principal_OrIds{OrIds: &rbacv3.Principal_Set{Ids: one}}})
	}
	of.Principals = []*rbacv3.Principal{{Identifier: &rbacv3.Principal_AndIds{AndIds: &rbacv3.Principal_Set{Ids: every}}}}
	return &rbacv3.RBAC{Action: rbacv3.RBAC_ALLOW, Policies: map[string]*rbacv3.Policy{"guests": of}}
}

func (g *Guest) principal() *rbacv3.Principal {
	if g.Under != "" {
		under := strings.TrimSuffix(g.Under, "/")
		return &rbacv3.Principal{Identifier: &rbacv3.Principal_OrIds{OrIds: &rbacv3.Principal_Set{Ids: []*rbacv3.Principal{
			proves(envoy.Exactly(under)), proves(&matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: under + "/"}})}}}}
	}
	var all []*rbacv3.Principal
	for _, k := range slices.Sorted(maps.Keys(g.Tags)) {
		all = append(all, proves(envoy.Exactly(spiffe.OfTag(k, g.Tags[k]))))
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_AndIds{AndIds: &rbacv3.Principal_Set{Ids: all}}}
}

func proves(m *matcherv3.StringMatcher) *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_Authenticated_{Authenticated: &rbacv3.Principal_Authenticated{PrincipalName: m}}}
}
