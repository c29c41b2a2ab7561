package gateway

import (
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// filters reads those of a rule, or of one backend of it.
func (x *reader) filters(s *said, r *route.Rule, list []gatewayv1.HTTPRouteFilter, at api.Path) {
	for i := range list {
		f, here := &list[i], at.Index(i)
		switch f.Type {
		case gatewayv1.HTTPRouteFilterRequestHeaderModifier:
			s.filters = append(s.filters, route.Filter{RequestHeaders: modifier(f.RequestHeaderModifier)})
		case gatewayv1.HTTPRouteFilterResponseHeaderModifier:
			s.filters = append(s.filters, route.Filter{ResponseHeaders: modifier(f.ResponseHeaderModifier)})
		case gatewayv1.HTTPRouteFilterRequestRedirect:
			s.redirect = f.RequestRedirect
			x.newerRedirect(s, r.Origin, f.RequestRedirect, here.Field("requestRedirect"))
		case gatewayv1.HTTPRouteFilterURLRewrite:
			x.newerPath(s, r.Origin, f.URLRewrite.Path, here.Field("urlRewrite").Field("path"))
			s.filters = append(s.filters, route.Filter{Rewrite: &route.Rewrite{
				Hostname: string(or(f.URLRewrite.Hostname, "")), Path: modified(f.URLRewrite.Path)}})
		case gatewayv1.HTTPRouteFilterRequestMirror:
			m := route.Mirror{Backend: x.backend(&f.RequestMirror.BackendRef, here.Field("requestMirror").Field("backendRef")), Percent: percent(f.RequestMirror)}
			s.filters, r.Mirrors = append(s.filters, route.Filter{Mirror: &m}), append(r.Mirrors, m.Backend)
		case gatewayv1.HTTPRouteFilterCORS:
			s.filters = append(s.filters, route.Filter{CORS: x.cors(r.Origin, f.CORS, here.Field("cors"))})
		default:
			x.closes(s, r.Origin, f, here)
		}
	}
}

// redirectStatuses are those that a redirect may have.
var redirectStatuses = []int{301, 302, 303, 307, 308}

// newerRedirect says of values that a later release may know, and weft does not, that the
// requests are answered with an error (spec/gateway-api.md 2.1).
func (x *reader) newerRedirect(s *said, o *api.Origin, r *gatewayv1.HTTPRequestRedirectFilter, at api.Path) {
	if r.Scheme != nil && *r.Scheme != "http" && *r.Scheme != "https" {
		x.newer(s, o, at.Field("scheme"), *r.Scheme, "http or https")
	}
	if r.StatusCode != nil && !slices.Contains(redirectStatuses, *r.StatusCode) {
		x.newer(s, o, at.Field("statusCode"), strconv.Itoa(*r.StatusCode), "301, 302, 303, 307 or 308")
	}
	x.newerPath(s, o, r.Path, at.Field("path"))
}

// newerPath is newerRedirect for what becomes of a path.
func (x *reader) newerPath(s *said, o *api.Origin, p *gatewayv1.HTTPPathModifier, at api.Path) {
	if p != nil && p.Type != gatewayv1.FullPathHTTPPathModifier && p.Type != gatewayv1.PrefixMatchHTTPPathModifier {
		x.newer(s, o, at.Field("type"), string(p.Type), "ReplaceFullPath or ReplacePrefixMatch")
	}
}

func (x *reader) newer(s *said, o *api.Origin, at api.Path, value, known string) {
	s.closed = true
	x.drop(o, api.CodeUnsupported, at, "weft does not know %q, so the requests of the rule are answered with an error; write %s", redact.Clip(value), known)
}

// closes says that a filter cannot be carried out. It may protect something, so that
// requests are answered with an error instead of going on without it.
func (x *reader) closes(s *said, o *api.Origin, f *gatewayv1.HTTPRouteFilter, at api.Path) {
	s.closed = true
	switch f.Type {
	case gatewayv1.HTTPRouteFilterExtensionRef:
		x.note(o, api.Error, invalidKind, at.Field("extensionRef"), "weft has no filters of kind %s in group %q, so what would pass it is answered with an error; use a filter of the Gateway API, or attach a policy",
			redact.Clip(string(f.ExtensionRef.Kind)), redact.Clip(string(f.ExtensionRef.Group)))
	default:
		x.drop(o, api.CodeUnsupported, at.Field("type"), "weft has no filter %s, so what would pass it is answered with an error; remove the filter", redact.Clip(string(f.Type)))
	}
}

func modifier(m *gatewayv1.HTTPHeaderFilter) *route.HeaderModifier {
	out := &route.HeaderModifier{Set: headers(m.Set), Add: headers(m.Add)}
	for _, name := range m.Remove {
		out.Remove = append(out.Remove, strings.ToLower(name))
	}
	return out
}

func headers(list []gatewayv1.HTTPHeader) []route.Header {
	var out []route.Header
	for _, h := range list {
		out = append(out, route.Header{Name: strings.ToLower(string(h.Name)), Value: h.Value})
	}
	return out
}

func modified(p *gatewayv1.HTTPPathModifier) *route.PathRewrite {
	if p == nil {
		return nil
	}
	return &route.PathRewrite{Full: p.ReplaceFullPath, Prefix: p.ReplacePrefixMatch}
}

// percent is the part of the requests that a mirror copies.
func percent(m *gatewayv1.HTTPRequestMirrorFilter) float64 {
	switch {
	case m.Percent != nil:
		return float64(*m.Percent)
	case m.Fraction != nil:
		return float64(m.Fraction.Numerator) / float64(or(m.Fraction.Denominator, 100)) * 100
	}
	return 100
}
