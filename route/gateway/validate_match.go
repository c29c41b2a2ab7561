package gateway

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// The longest texts of a match.
const (
	maxPath  = 1024
	maxValue = 4096
)

// isPrefix reports whether a match names a prefix of the path.
func isPrefix(p *gatewayv1.HTTPPathMatch) bool {
	return p == nil || or(p.Type, gatewayv1.PathMatchPathPrefix) == gatewayv1.PathMatchPathPrefix
}

func (c *checker) httpMatch(at api.Path, m *gatewayv1.HTTPRouteMatch) {
	if p := m.Path; p != nil {
		c.path(at.Field("path").Field("value"), or(p.Type, gatewayv1.PathMatchPathPrefix), or(p.Value, "/"))
	}
	c.long(at.Field("headers"), len(m.Headers), maxHeaders)
	for i, h := range m.Headers {
		c.header(at.Field("headers").Index(i), string(h.Name), string(or(h.Type, "Exact")), h.Value)
	}
	c.long(at.Field("queryParams"), len(m.QueryParams), maxHeaders)
	for i, q := range m.QueryParams {
		here := at.Field("queryParams").Index(i)
		c.given(here.Field("name"), string(q.Name))
		c.value(here.Field("value"), string(or(q.Type, "Exact")), q.Value, maxPath)
		c.wire(here.Field("name"), string(q.Name))
	}
}

func (c *checker) path(at api.Path, kind gatewayv1.PathMatchType, value string) {
	if len(value) > maxPath {
		c.add(at.Breaks("the path has %d characters; at most %d are allowed", len(value), maxPath))
		return
	}
	if kind == gatewayv1.PathMatchRegularExpression {
		c.add(match.CheckRegex(at, value))
		return
	}
	if kind != gatewayv1.PathMatchExact && kind != gatewayv1.PathMatchPathPrefix {
		return
	}
	if !strings.HasPrefix(value, "/") {
		c.add(at.Breaks("%q is not absolute; begin it with /", redact.Clip(value)))
	}
	for _, part := range []string{"//", "/./", "/../", "%2f", "%2F", "#"} {
		if strings.Contains(value, part) {
			c.add(at.Breaks("%q holds %s, which no path has when it is matched; remove it", redact.Clip(value), part))
		}
	}
	if strings.HasSuffix(value, "/.") || strings.HasSuffix(value, "/..") {
		c.add(at.Breaks("%q ends in a dot segment, which no path has when it is matched; remove it", redact.Clip(value)))
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' }) {
		c.add(at.Breaks("%q holds a space, a control character or a query, which is no part of a path; write it as requests do, or match queryParams", redact.Clip(value)))
	}
	c.wire(at, value)
}

// wire wants what a URL may hold: no request has anything else.
func (c *checker) wire(at api.Path, text string) {
	if !match.IsASCII(text) {
		c.add(at.Breaks("%q has characters that no URL has; write it as requests do: %s", redact.Clip(text), redact.Clip(match.PercentEncoded(text))))
	}
}

// header checks a comparison of a header.
func (c *checker) header(at api.Path, name, kind, value string) {
	c.add(route.CheckHeaderName(at.Field("name"), strings.ToLower(name)))
	c.value(at.Field("value"), kind, value, maxValue)
}

// value checks what a header or a query parameter is compared with.
func (c *checker) value(at api.Path, kind, value string, most int) {
	switch {
	case value == "":
		c.add(at.Breaks("is empty; write the value"))
	case len(value) > most:
		c.add(at.Breaks("the value has %d characters; at most %d are allowed", len(value), most))
	case kind == "RegularExpression":
		c.add(match.CheckRegex(at, value))
	case kind == "Exact":
		c.add(match.CheckHeaderValue(at, value))
	}
}

func (c *checker) grpcMatch(at api.Path, m *gatewayv1.GRPCRouteMatch) {
	if call := m.Method; call != nil {
		service, method := or(call.Service, ""), or(call.Method, "")
		here := at.Field("method")
		if service == "" && method == "" {
			c.add(here.Breaks("asks for nothing; write service, method or both"))
		}
		switch or(call.Type, gatewayv1.GRPCMethodMatchExact) {
		case gatewayv1.GRPCMethodMatchExact:
			c.callName(here.Field("service"), service)
			c.callName(here.Field("method"), method)
		case gatewayv1.GRPCMethodMatchRegularExpression:
			if _, err := match.MatchAll(match.OnPath, "", 0, "/"+part(service)+"/"+part(method)); err != nil {
				c.add(here.Breaks("%v; correct it", err))
			}
		}
	}
	c.long(at.Field("headers"), len(m.Headers), maxHeaders)
	for i, h := range m.Headers {
		c.header(at.Field("headers").Index(i), string(h.Name), string(or(h.Type, "Exact")), h.Value)
	}
}

// callName checks the name of a service or method of gRPC.
func (c *checker) callName(at api.Path, name string) {
	plain := strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.") == ""
	if len(name) > maxPath || !plain || strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
		c.add(at.Breaks("%q is not a name of gRPC; use letters, digits, _ and dots", redact.Clip(name)))
	}
}
