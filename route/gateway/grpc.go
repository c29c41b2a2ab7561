package gateway

import (
	"fmt"
	"regexp"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/route/match"
)

// grpcRules are the rules of a GRPCRoute.
func grpcRules(spec *GRPCRoute) []rule {
	rules := spec.Rules
	if len(rules) == 0 { // which is one for every call
		rules = []gatewayv1.GRPCRouteRule{{}}
	}
	out := make([]rule, len(rules))
	for i := range rules {
		r := &rules[i]
		out[i] = rule{name: r.Name, filters: grpcFilters(r.Filters), sticky: r.SessionPersistence}
		for j := range r.BackendRefs {
			b := &r.BackendRefs[j]
			out[i].backends = append(out[i].backends, gatewayv1.HTTPBackendRef{BackendRef: b.BackendRef, Filters: grpcFilters(b.Filters)})
		}
		if len(r.Matches) == 0 { // every call
			out[i].matches = []lazyMatch{func() (match.Conditions, error) { return grpcConditions(&gatewayv1.GRPCRouteMatch{}) }}
		}
		for j := range r.Matches {
			out[i].matches = append(out[i].matches, func() (match.Conditions, error) { return grpcConditions(&r.Matches[j]) })
		}
	}
	return out
}

// grpcFilters are filters of a GRPCRoute as those of an HTTPRoute, which has all of them.
func grpcFilters(list []gatewayv1.GRPCRouteFilter) []gatewayv1.HTTPRouteFilter {
	var out []gatewayv1.HTTPRouteFilter
	for _, f := range list {
		out = append(out, gatewayv1.HTTPRouteFilter{Type: gatewayv1.HTTPRouteFilterType(f.Type), RequestHeaderModifier: f.RequestHeaderModifier,
			ResponseHeaderModifier: f.ResponseHeaderModifier, RequestMirror: f.RequestMirror, ExtensionRef: f.ExtensionRef})
	}
	return out
}

// anyName is one part of the path of a call.
const anyName = "[^/]+"

// grpcConditions are what a match of a GRPCRoute asks: of a call whose path is
// /service/method.
func grpcConditions(m *gatewayv1.GRPCRouteMatch) (match.Conditions, error) {
	var c conditions
	if m.Method != nil {
		c.call(m.Method)
	}
	c.post()
	seen := map[string]bool{}
	for _, h := range m.Headers {
		if name := strings.ToLower(string(h.Name)); !seen[name] {
			seen[name] = true
			c.value(match.OnHeader, name, string(or(h.Type, gatewayv1.GRPCHeaderMatchExact)), h.Value)
		}
	}
	return c.list, c.err
}

// post is what every call is by HTTP.
func (c *conditions) post() {
	made, err := match.Compare(match.OnMethod, "", match.Equal, 0, "POST")
	c.add("method", made, err)
}

func (c *conditions) call(m *gatewayv1.GRPCMethodMatch) {
	service, method := or(m.Service, ""), or(m.Method, "")
	var made match.Condition
	var err error
	switch kind := or(m.Type, gatewayv1.GRPCMethodMatchExact); {
	case service == "" && method == "":
		err = fmt.Errorf("neither service nor method is given")
	case kind == gatewayv1.GRPCMethodMatchRegularExpression:
		made, err = match.MatchAll(match.OnPath, "", 0, "/"+part(service)+"/"+part(method))
	case kind != gatewayv1.GRPCMethodMatchExact:
		err = fmt.Errorf("weft does not know the type %q", string(kind))
	case method == "":
		made, err = match.Compare(match.OnPath, "", match.BytePrefix, 0, "/"+service+"/")
	case service == "":
		made, err = match.MatchAll(match.OnPath, "", 0, "/"+anyName+"/"+regexp.QuoteMeta(method))
	default:
		made, err = match.Compare(match.OnPath, "", match.Equal, 0, "/"+service+"/"+method)
	}
	c.add("method", made, err)
}

// part is an expression for one part of the path, which may be any.
func part(expression string) string {
	if expression == "" {
		return anyName
	}
	return "(?:" + expression + ")"
}
