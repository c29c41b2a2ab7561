package gateway

import (
	"fmt"
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/route/match"
)

// httpRules are the rules of an HTTPRoute.
func httpRules(spec *HTTPRoute) []rule {
	out := make([]rule, len(spec.Rules))
	for i := range spec.Rules {
		r := &spec.Rules[i]
		out[i] = rule{name: r.Name, filters: r.Filters, backends: r.BackendRefs, timeouts: r.Timeouts, retry: r.Retry, sticky: r.SessionPersistence}
		for j := range r.Matches {
			out[i].matches = append(out[i].matches, func() (match.Conditions, error) { return httpConditions(&r.Matches[j]) })
		}
	}
	return out
}

// methods are those that a match may name.
var methods = []gatewayv1.HTTPMethod{"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"}

// conditions gathers those of a match, up to the first that cannot be asked.
type conditions struct {
	list match.Conditions
	err  error
}

func (c *conditions) add(what string, made match.Condition, err error) {
	if c.err == nil && err != nil {
		c.err = fmt.Errorf("%s: %w", what, err)
	}
	c.list = append(c.list, made)
}

// httpConditions are what a match of an HTTPRoute asks.
func httpConditions(m *gatewayv1.HTTPRouteMatch) (match.Conditions, error) {
	var c conditions
	if m.Path != nil {
		c.path(m.Path)
	}
	if m.Method != nil {
		if !slices.Contains(methods, *m.Method) {
			return nil, fmt.Errorf("method: weft does not know %q", string(*m.Method))
		}
		made, err := match.Compare(match.OnMethod, "", match.Equal, 0, string(*m.Method))
		c.add("method", made, err)
	}
	seen := map[string]bool{}
	for _, h := range m.Headers {
		if name := strings.ToLower(string(h.Name)); !seen[name] { // of entries for one header the first counts
			seen[name] = true
			c.value(match.OnHeader, name, string(or(h.Type, gatewayv1.HeaderMatchExact)), h.Value)
		}
	}
	seen = map[string]bool{}
	for _, q := range m.QueryParams {
		if name := string(q.Name); !seen[name] {
			seen[name] = true
			c.value(match.OnQuery, name, string(or(q.Type, gatewayv1.QueryParamMatchExact)), q.Value)
		}
	}
	return c.list, c.err
}

func (c *conditions) path(p *gatewayv1.HTTPPathMatch) {
	value := or(p.Value, "/")
	var made match.Condition
	var err error
	switch kind := or(p.Type, gatewayv1.PathMatchPathPrefix); kind {
	case gatewayv1.PathMatchExact:
		made, err = match.Compare(match.OnPath, "", match.Equal, 0, value)
	case gatewayv1.PathMatchPathPrefix:
		if value != "/" {
			value = strings.TrimSuffix(value, "/")
		}
		made, err = match.Compare(match.OnPath, "", match.SegmentPrefix, 0, value)
	case gatewayv1.PathMatchRegularExpression:
		made, err = match.MatchAll(match.OnPath, "", 0, value)
	default:
		err = fmt.Errorf("weft does not know the type %q", string(kind))
	}
	c.add("path", made, err)
}

// value compares a header or a query parameter.
func (c *conditions) value(on match.Subject, name, kind, value string) {
	var made match.Condition
	var err error
	switch kind {
	case "Exact":
		made, err = match.Compare(on, name, match.Equal, 0, value)
	case "RegularExpression":
		made, err = match.MatchAll(on, name, 0, value)
	default:
		err = fmt.Errorf("weft does not know the type %q", kind)
	}
	c.add(fmt.Sprintf("%s %s", on, name), made, err)
}
