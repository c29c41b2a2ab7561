package gateway

import (
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
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
		case gatewayv1.HTTPRouteFilterURLRewrite:
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

// closes says that a filter cannot be carried out. It may protect something, so that
// requests are answered with an error instead of going on without it.
func (x *reader) closes(s *said, o *api.Origin, f *gatewayv1.HTTPRouteFilter, at api.Path) {
	s.closed = true
	switch f.Type {
	case gatewayv1.HTTPRouteFilterExtensionRef:
		x.note(o, api.Error, invalidKind, at.Field("extensionRef"), "weft has no filters of kind %s in group %q, so what would pass it is answered with an error; use a filter of the Gateway API, or attach a policy",
			api.Clip(string(f.ExtensionRef.Kind)), api.Clip(string(f.ExtensionRef.Group)))
	default:
		x.drop(o, api.CodeUnsupported, at.Field("type"), "weft has no filter %s, so what would pass it is answered with an error; remove the filter", api.Clip(string(f.Type)))
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
