package trafficpermission

import (
	"maps"
	"slices"
	"strings"

	rbacv3 "github.com/envoyproxy/go-control-plane/envoy/config/rbac/v3"
	matcherv3 "github.com/envoyproxy/go-control-plane/envoy/type/matcher/v3"

	"github.com/weftmesh/weft/api/spiffe"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/matchers"
)

// view is from which side of an inbound entries are rendered: of those who have proved a
// name or of those who have not, with requests that are read or without.
type view struct{ proved, requests bool }

// possible reports whether the clause can hold there at all.
func (v view) possible(c *clause) bool {
	switch {
	case c.never, v.proved && c.anonymous, !v.proved && len(c.names) > 0, !v.requests && len(c.http) > 0:
		return false
	}
	return v.proved || !v.requests || c.sni == "" // who speaks plaintext asks for no name in TLS
}

// rules are entries as Envoy has them; unless are those over them. Names that callers ask
// for in TLS stand among the permissions, all else among the principals, since only those
// can be negated together: for each name that one of unless asks for there is a policy of
// its own.
func (v view) rules(action rbacv3.RBAC_Action, entries, unless []*Entry) *rbacv3.RBAC {
	out := &rbacv3.RBAC{Action: action, Policies: map[string]*rbacv3.Policy{}}
	over, names := []*clause(nil), map[string]bool{}
	for _, e := range unless {
		if v.possible(&e.holds) {
			over = append(over, &e.holds)
			if e.holds.sni != "" {
				names[e.holds.sni] = true
			}
		}
	}
	all := slices.Sorted(maps.Keys(names))
	for _, e := range entries {
		c := &e.holds
		if !v.possible(c) {
			continue
		}
		if c.sni != "" {
			out.Policies[e.Name] = v.policy(c, sniIs(c.sni), overFor(over, c.sni))
			continue
		}
		out.Policies[e.Name] = v.policy(c, sniIsNot(all), overFor(over, ""))
		for _, name := range all {
			out.Policies[e.Name+"@"+name] = v.policy(c, sniIs(name), overFor(over, name))
		}
	}
	return out
}

// overFor are the clauses that can hold of a caller that asks for a name in TLS.
func overFor(over []*clause, sni string) (out []*clause) {
	for _, c := range over {
		if c.sni == "" || c.sni == sni {
			out = append(out, c)
		}
	}
	return out
}

func (v view) policy(c *clause, permission *rbacv3.Permission, over []*clause) *rbacv3.Policy {
	parts := v.parts(c)
	for _, o := range over {
		parts = append(parts, not(allOf(v.parts(o))))
	}
	return &rbacv3.Policy{Permissions: []*rbacv3.Permission{permission}, Principals: []*rbacv3.Principal{allOf(parts)}}
}

// parts are what the clause asks but for the name in TLS.
func (v view) parts(c *clause) []*rbacv3.Principal {
	var out []*rbacv3.Principal
	for i := range c.names {
		out = append(out, c.names[i].principal())
	}
	for _, group := range c.http {
		var any []*rbacv3.Principal
		for i := range group {
			any = append(any, condition(&group[i]))
		}
		out = append(out, anyOf(any))
	}
	for _, u := range c.unless {
		if v.possible(u) {
			out = append(out, not(allOf(v.parts(u))))
		}
	}
	return out
}

func (n *nameTest) principal() *rbacv3.Principal {
	var any []*rbacv3.Principal
	for _, m := range n.names() {
		any = append(any, named(m))
	}
	return anyOf(any)
}

// names are what the test compares a name with.
func (n *nameTest) names() []*matcherv3.StringMatcher {
	var out []*matcherv3.StringMatcher
	for _, e := range n.exact {
		out = append(out, is(e))
	}
	for _, p := range n.under {
		out = append(out, is(p), begins(p+"/"))
	}
	if n.begins != "" {
		if out = append(out, begins(n.begins)); strings.HasSuffix(n.begins, "/") {
			out = append(out, is(strings.TrimSuffix(n.begins, "/")))
		}
	}
	return out
}

// pairs are entries that refuse who has names of two trust domains: the validator of SPIFFE
// looks at the first name of a certificate alone, so that a root would speak for the domain
// of another (spec/identity.md F2). They stand before all others.
func pairs(domains []string) map[string]*rbacv3.Policy {
	out := map[string]*rbacv3.Policy{}
	under := func(domain string) *rbacv3.Principal {
		return (&nameTest{under: []string{spiffe.Scheme + domain}}).principal()
	}
	for i, a := range domains {
		for _, b := range domains[:i] {
			out["domains:"+b+"+"+a] = &rbacv3.Policy{
				Permissions: []*rbacv3.Permission{sniIsNot(nil)},
				Principals:  []*rbacv3.Principal{allOf([]*rbacv3.Principal{under(b), under(a)})},
			}
		}
	}
	return out
}

func is(text string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Exact{Exact: text}}
}

func begins(text string) *matcherv3.StringMatcher {
	return &matcherv3.StringMatcher{MatchPattern: &matcherv3.StringMatcher_Prefix{Prefix: text}}
}

// named holds of whoever has such a name among all those of its certificate: Envoy's matcher
// inputs see all names as one text, which rules must not rest on (spec/identity.md F3).
func named(m *matcherv3.StringMatcher) *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_Authenticated_{Authenticated: &rbacv3.Principal_Authenticated{PrincipalName: m}}}
}

// condition is one on a path, a method or a header.
func condition(c *match.Condition) *rbacv3.Principal {
	if c.On != match.OnPath {
		return &rbacv3.Principal{Identifier: &rbacv3.Principal_Header{Header: matchers.Header(c)}}
	}
	path := func(m *matcherv3.StringMatcher) *rbacv3.Principal {
		return &rbacv3.Principal{Identifier: &rbacv3.Principal_UrlPath{UrlPath: &matcherv3.PathMatcher{Rule: &matcherv3.PathMatcher_Path{Path: m}}}}
	}
	if c.Op != match.SegmentPrefix {
		return path(matchers.Text(c))
	}
	// A prefix of bytes would take /secretary for /secret.
	prefix := strings.TrimSuffix(c.Value, "/")
	any := []*rbacv3.Principal{path(begins(prefix + "/"))}
	if prefix != "" {
		any = append(any, path(is(prefix)))
	}
	return anyOf(any)
}

func allOf(parts []*rbacv3.Principal) *rbacv3.Principal {
	switch len(parts) {
	case 0:
		return &rbacv3.Principal{Identifier: &rbacv3.Principal_Any{Any: true}}
	case 1:
		return parts[0]
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_AndIds{AndIds: &rbacv3.Principal_Set{Ids: parts}}}
}

// anyOf holds where one of parts does; of none it never holds.
func anyOf(parts []*rbacv3.Principal) *rbacv3.Principal {
	switch len(parts) {
	case 0:
		return not(allOf(nil))
	case 1:
		return parts[0]
	}
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_OrIds{OrIds: &rbacv3.Principal_Set{Ids: parts}}}
}

func not(p *rbacv3.Principal) *rbacv3.Principal {
	return &rbacv3.Principal{Identifier: &rbacv3.Principal_NotId{NotId: p}}
}

func sniIs(name string) *rbacv3.Permission {
	return &rbacv3.Permission{Rule: &rbacv3.Permission_RequestedServerName{RequestedServerName: is(name)}}
}

func sniIsNot(names []string) *rbacv3.Permission {
	if len(names) == 0 {
		return &rbacv3.Permission{Rule: &rbacv3.Permission_Any{Any: true}}
	}
	var any []*rbacv3.Permission
	for _, n := range names {
		any = append(any, sniIs(n))
	}
	return &rbacv3.Permission{Rule: &rbacv3.Permission_NotRule{NotRule: &rbacv3.Permission{
		Rule: &rbacv3.Permission_OrRules{OrRules: &rbacv3.Permission_Set{Rules: any}}}}}
}
