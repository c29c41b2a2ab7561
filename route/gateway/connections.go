package gateway

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TCPRoute is the spec of a TCPRoute.
type TCPRoute gatewayv1.TCPRouteSpec

// TLSRoute is the spec of a TLSRoute.
type TLSRoute gatewayv1.TLSRouteSpec

// maxServerNames is how many names a TLSRoute may have.
const maxServerNames = 1024

// connectionRules are rules for connections, whose backends have no filters.
func connectionRules[R gatewayv1.TCPRouteRule | gatewayv1.TLSRouteRule](list []R) []rule {
	out := make([]rule, len(list))
	for i := range list {
		r := gatewayv1.TCPRouteRule(list[i])
		out[i].name = r.Name
		for _, ref := range r.BackendRefs {
			out[i].backends = append(out[i].backends, gatewayv1.HTTPBackendRef{BackendRef: ref})
		}
	}
	return out
}

// Validate checks a TCPRoute as its published schema does.
func (r *TCPRoute) Validate(at api.Path) error {
	var c checker
	c.common(at, &r.CommonRouteSpec, nil)
	c.connections(at.Field("rules"), connectionRules(r.Rules))
	return c.errs.ErrorOrNil()
}

// Validate checks a TLSRoute as its published schema does.
func (r *TLSRoute) Validate(at api.Path) error {
	var c checker
	c.common(at, &r.CommonRouteSpec, nil)
	names := at.Field("hostnames")
	c.long(names, len(r.Hostnames), maxServerNames)
	if len(r.Hostnames) == 0 {
		c.add(names.Breaks("is empty, so no connection is the route's; write the names that clients ask for in TLS (SNI)"))
	}
	for i, h := range r.Hostnames {
		c.add(api.ValidateHostname(names.Index(i), strings.TrimPrefix(string(h), "*.")))
	}
	c.connections(at.Field("rules"), connectionRules(r.Rules))
	return c.errs.ErrorOrNil()
}

// connections wants one rule, for nothing tells connections apart, with backends.
func (c *checker) connections(at api.Path, list []rule) {
	switch n := len(list); {
	case n == 0:
		c.add(at.Breaks("is empty, so connections go nowhere; write one rule, with its backendRefs"))
	case n > 1:
		c.add(at.Breaks("there are %d rules, and nothing tells their connections apart; write one", n))
	}
	names := map[string]bool{}
	for i := range list {
		c.name(at.Index(i).Field("name"), list[i].name, names)
		refs := at.Index(i).Field("backendRefs")
		if len(list[i].backends) == 0 {
			c.add(refs.Breaks("the rule sends connections nowhere; write at least one backend"))
		}
		c.backends(refs, list[i].backends, false)
	}
}

// composeConnections lets the oldest route hold where whole connections go, then the first
// by name: there is nothing by which several could be told apart but, of TLSRoutes at a
// Service, the names that clients ask for. A host of a listener is one such name.
func composeConnections(f route.Frontend, candidates []route.Candidate) route.Composition {
	if f.Kind == api.KindHost || candidates[0].Object.Kind != KindTLSRoute {
		return route.Composition{Connections: oldest(candidates)}
	}
	byName := map[string][]route.Candidate{}
	for _, c := range candidates {
		names := slices.Clone(hostnames(c.Object))
		slices.Sort(names)
		for _, n := range slices.Compact(names) {
			byName[string(n)] = append(byName[string(n)], c)
		}
	}
	var out route.Composition
	for _, name := range slices.SortedFunc(maps.Keys(byName), nearestFirst) {
		out.ServerNames = append(out.ServerNames, route.ServerName{Name: name, MergedRule: oldest(byName[name])})
	}
	return out
}

// nearestFirst orders names as clients that ask for one come to them: exact ones, then the
// longer of those that stand for all names below one.
func nearestFirst(a, b string) int {
	return cmp.Or(match.FalseFirst(strings.HasPrefix(a, "*"), strings.HasPrefix(b, "*")), cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
}

// oldest is the rule of the first of candidates, to which the others give way.
func oldest(candidates []route.Candidate) *route.MergedRule {
	out := &route.MergedRule{Do: route.Passthrough{}}
	for _, c := range slices.Backward(candidates) {
		for i := range c.Rules {
			r := &c.Rules[i]
			out.Origins = append(out.Origins, r.Origin)
			out.Name, out.ActionBy, out.Do = nameOf(r.Origin), r.Origin, &route.Forward{Backends: r.Payload.(*said).backends}
		}
	}
	return out
}
