package gateway

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// match is conditions without a choice of methods as one match.
func (p *printer) match(cs match.Conditions) gatewayv1.HTTPRouteMatch {
	var out gatewayv1.HTTPRouteMatch
	for i := range cs {
		c := &cs[i]
		switch c.On {
		case match.OnPath:
			if out.Path != nil {
				p.Fail(route.UnsaidMatch, "a match of an HTTPRoute asks once for the path, and not also that %s", c.Text())
			}
			out.Path = p.path(c)
		case match.OnMethod:
			if !slices.Contains(methods, gatewayv1.HTTPMethod(c.Value)) {
				p.Fail(route.UnsaidMatch, "an HTTPRoute does not know the method %s", c.Value)
			}
			out.Method = new(gatewayv1.HTTPMethod(c.Value))
		case match.OnHeader:
			kind, value := p.compared(c)
			if slices.ContainsFunc(out.Headers, func(h gatewayv1.HTTPHeaderMatch) bool { return string(h.Name) == c.Name }) {
				p.Fail(route.UnsaidMatch, "a match of an HTTPRoute asks once for a header, and not also that %s", c.Text())
			}
			h := gatewayv1.HTTPHeaderMatch{Name: gatewayv1.HTTPHeaderName(c.Name), Value: value}
			if kind != gatewayv1.HeaderMatchExact {
				h.Type = &kind
			}
			out.Headers = append(out.Headers, h)
		case match.OnQuery:
			kind, value := p.compared(c)
			if slices.ContainsFunc(out.QueryParams, func(q gatewayv1.HTTPQueryParamMatch) bool { return string(q.Name) == c.Name }) {
				p.Fail(route.UnsaidMatch, "a match of an HTTPRoute asks once for a query parameter, and not also that %s", c.Text())
			}
			q := gatewayv1.HTTPQueryParamMatch{Name: gatewayv1.HTTPHeaderName(c.Name), Value: value}
			if kind != gatewayv1.HeaderMatchExact {
				q.Type = new(gatewayv1.QueryParamMatchType(kind))
			}
			out.QueryParams = append(out.QueryParams, q)
		default:
			p.Fail(route.UnsaidMatch, "an HTTPRoute cannot ask that %s", c.Text())
		}
	}
	if out.Path == nil && p.Lines[p.Line].Expression {
		out.Path = p.path(cs.Path())
	}
	return out
}

// path is what the line asks of the path, moved where the order wants it.
func (p *printer) path(c *match.Condition) *gatewayv1.HTTPPathMatch {
	kind, value := gatewayv1.PathMatchRegularExpression, c.Value
	switch {
	case p.Lines[p.Line].Expression:
		value, _ = p.Spelled(p.Line)
	case c.Op == match.Equal:
		kind = gatewayv1.PathMatchExact
	case c.Op == match.SegmentPrefix, c.Op == match.BytePrefix && c.Value == "/":
		kind = gatewayv1.PathMatchPathPrefix
	case c.Op == match.BytePrefix && p.InSegments(p.Line):
		kind = gatewayv1.PathMatchPathPrefix
		p.Segments("an HTTPRoute")
	default:
		value, _ = c.Expression()
	}
	return &gatewayv1.HTTPPathMatch{Type: &kind, Value: &value}
}

// compared is how a header or a query parameter is compared.
func (p *printer) compared(c *match.Condition) (kind gatewayv1.HeaderMatchType, value string) {
	if c.Op == match.Equal && c.Mode == 0 && c.Value != "" {
		return gatewayv1.HeaderMatchExact, c.Value
	}
	text, ok := c.Expression()
	if !ok || c.Mode&^match.IgnoreCase != 0 {
		p.Fail(route.UnsaidMatch, "an HTTPRoute cannot ask that %s", c.Text())
	}
	return gatewayv1.HeaderMatchRegularExpression, text
}
