package gateway

import (
	"slices"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// once are the filters of which a list has one at most.
var once = []gatewayv1.HTTPRouteFilterType{gatewayv1.HTTPRouteFilterRequestHeaderModifier, gatewayv1.HTTPRouteFilterResponseHeaderModifier,
	gatewayv1.HTTPRouteFilterRequestRedirect, gatewayv1.HTTPRouteFilterURLRewrite, gatewayv1.HTTPRouteFilterCORS}

// filters checks those of a rule or of a backend; prefix says that the rule's one
// match is a prefix of the path.
func (c *checker) filters(at api.Path, list []gatewayv1.HTTPRouteFilter, prefix bool) {
	c.long(at, len(list), maxFilters)
	seen := map[gatewayv1.HTTPRouteFilterType]bool{}
	for i := range list {
		f, here := &list[i], at.Index(i)
		if seen[f.Type] && slices.Contains(once, f.Type) {
			c.add(here.Field("type").Breaks("there is a filter %s already; put both into one", f.Type))
		}
		seen[f.Type] = true
		c.union(here, f)
		c.modifier(here.Field("requestHeaderModifier"), f.RequestHeaderModifier, route.SetInRequest, route.AddToRequest, route.RemoveFromRequest)
		c.modifier(here.Field("responseHeaderModifier"), f.ResponseHeaderModifier, route.SetInAnswer, route.AddToAnswer, route.RemoveFromAnswer)
		c.redirect(here.Field("requestRedirect"), f.RequestRedirect, prefix)
		if w := f.URLRewrite; w != nil {
			c.hostname(here.Field("urlRewrite").Field("hostname"), w.Hostname)
			c.modifiedPath(here.Field("urlRewrite").Field("path"), w.Path, prefix)
		}
		c.mirror(here.Field("requestMirror"), f.RequestMirror)
		c.cors(here.Field("cors"), f.CORS)
	}
	if seen[gatewayv1.HTTPRouteFilterRequestRedirect] && seen[gatewayv1.HTTPRouteFilterURLRewrite] {
		c.add(at.Breaks("RequestRedirect and URLRewrite exclude each other; remove one of them"))
	}
}

// union wants the member that the type names, and no other.
func (c *checker) union(at api.Path, f *gatewayv1.HTTPRouteFilter) {
	members := []struct {
		kind  gatewayv1.HTTPRouteFilterType
		field string
		set   bool
	}{
		{gatewayv1.HTTPRouteFilterRequestHeaderModifier, "requestHeaderModifier", f.RequestHeaderModifier != nil},
		{gatewayv1.HTTPRouteFilterResponseHeaderModifier, "responseHeaderModifier", f.ResponseHeaderModifier != nil},
		{gatewayv1.HTTPRouteFilterRequestMirror, "requestMirror", f.RequestMirror != nil},
		{gatewayv1.HTTPRouteFilterRequestRedirect, "requestRedirect", f.RequestRedirect != nil},
		{gatewayv1.HTTPRouteFilterURLRewrite, "urlRewrite", f.URLRewrite != nil},
		{gatewayv1.HTTPRouteFilterCORS, "cors", f.CORS != nil},
		{gatewayv1.HTTPRouteFilterExternalAuth, "externalAuth", f.ExternalAuth != nil},
		{gatewayv1.HTTPRouteFilterExtensionRef, "extensionRef", f.ExtensionRef != nil},
	}
	c.given(at.Field("type"), string(f.Type))
	for _, m := range members {
		switch {
		case m.kind == f.Type && !m.set:
			c.add(at.Field(m.field).Breaks("is missing; a filter of type %s needs it", f.Type))
		case m.kind != f.Type && m.set:
			c.add(at.Field(m.field).Breaks("belongs to filters of type %s; remove it, or change the type", m.kind))
		}
	}
}

func (c *checker) modifier(at api.Path, m *gatewayv1.HTTPHeaderFilter, set, add, remove route.HeaderChange) {
	if m == nil {
		return
	}
	seen := map[string]bool{}
	check := func(at api.Path, change route.HeaderChange, name, value string) {
		name = strings.ToLower(name)
		c.add(route.CheckChangedHeader(at, change, route.Header{Name: name, Value: value}))
		if seen[name] {
			c.add(at.Breaks("%q is changed already; write each header once in set, add and remove together", redact.Clip(name)))
		}
		seen[name] = true
	}
	for _, list := range []struct {
		name    string
		change  route.HeaderChange
		headers []gatewayv1.HTTPHeader
	}{{"set", set, m.Set}, {"add", add, m.Add}} {
		c.long(at.Field(list.name), len(list.headers), maxHeaders)
		for i, h := range list.headers {
			here := at.Field(list.name).Index(i)
			check(here.Field("name"), list.change, string(h.Name), h.Value)
			c.add(match.CheckHeaderValue(here.Field("value"), h.Value))
		}
	}
	c.long(at.Field("remove"), len(m.Remove), maxHeaders)
	for i, name := range m.Remove {
		check(at.Field("remove").Index(i), remove, name, "")
	}
}

func (c *checker) hostname(at api.Path, h *gatewayv1.PreciseHostname) {
	if h != nil {
		c.add(api.ValidateHostname(at, string(*h)))
	}
}

func (c *checker) redirect(at api.Path, r *gatewayv1.HTTPRequestRedirectFilter, prefix bool) {
	if r == nil {
		return
	}
	c.hostname(at.Field("hostname"), r.Hostname)
	c.modifiedPath(at.Field("path"), r.Path, prefix)
	c.port(at.Field("port"), r.Port)
}

func (c *checker) modifiedPath(at api.Path, p *gatewayv1.HTTPPathModifier, prefix bool) {
	if p == nil {
		return
	}
	full, part := at.Field("replaceFullPath"), at.Field("replacePrefixMatch")
	switch p.Type {
	case gatewayv1.FullPathHTTPPathModifier:
		c.chosen(full, p.ReplaceFullPath, part, p.ReplacePrefixMatch)
	case gatewayv1.PrefixMatchHTTPPathModifier:
		c.chosen(part, p.ReplacePrefixMatch, full, p.ReplaceFullPath)
		if !prefix {
			c.add(part.Breaks("there is no one prefix to replace; use one match with a PathPrefix in the rule, or ReplaceFullPath"))
		}
	default:
		c.given(at.Field("type"), string(p.Type))
	}
}

// chosen wants the replacement that the type names, which may be empty, and not the other.
func (c *checker) chosen(at api.Path, value *string, otherAt api.Path, other *string) {
	switch {
	case value == nil:
		c.add(at.Breaks("is missing; the type asks for it"))
	case len(*value) > maxPath:
		c.add(at.Breaks("the path has %d characters; at most %d are allowed", len(*value), maxPath))
	case strings.ContainsFunc(*value, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '?' || r == '#' }):
		c.add(at.Breaks("%q holds a space, a control character, a query or a fragment, which is no part of a path; remove it", redact.Clip(*value)))
	default:
		c.wire(at, *value)
	}
	if other != nil {
		c.add(otherAt.Breaks("does not go with the type; remove it"))
	}
}

func (c *checker) mirror(at api.Path, m *gatewayv1.HTTPRequestMirrorFilter) {
	if m == nil {
		return
	}
	c.backend(at.Field("backendRef"), &m.BackendRef)
	switch p := m.Percent; {
	case p != nil && m.Fraction != nil:
		c.add(at.Field("fraction").Breaks("percent and fraction exclude each other; remove one of them"))
	case p != nil && (*p < 0 || *p > 100):
		c.add(at.Field("percent").Breaks("%d is not a percentage; write a number from 0 to 100", *p))
	case m.Fraction != nil:
		if n, d := m.Fraction.Numerator, or(m.Fraction.Denominator, 100); n < 0 || d < 1 || n > d {
			c.add(at.Field("fraction").Breaks("%d of %d is no part; write a numerator from 0 up to the denominator", n, d))
		}
	}
}

// redirects wants a rule that redirects to name no backends.
func (c *checker) redirects(at api.Path, r *gatewayv1.HTTPRouteRule) {
	if len(r.BackendRefs) > 0 && slices.ContainsFunc(r.Filters, func(f gatewayv1.HTTPRouteFilter) bool { return f.Type == gatewayv1.HTTPRouteFilterRequestRedirect }) {
		c.add(at.Field("backendRefs").Breaks("a rule that redirects asks no backend; remove backendRefs, or the filter RequestRedirect"))
	}
}

// ofBackend refuses filters that Envoy has not for one of several backends.
func (c *checker) ofBackend(at api.Path, list []gatewayv1.HTTPRouteFilter) {
	for i := range list {
		f, here := &list[i], at.Index(i)
		switch {
		case f.Type == gatewayv1.HTTPRouteFilterURLRewrite && f.URLRewrite != nil && f.URLRewrite.Path != nil:
			c.add(here.Field("urlRewrite").Field("path").Breaks("Envoy rewrites the path of all backends of a rule alike; write the filter into the rule"))
		case slices.Contains([]gatewayv1.HTTPRouteFilterType{gatewayv1.HTTPRouteFilterRequestMirror, gatewayv1.HTTPRouteFilterRequestRedirect, gatewayv1.HTTPRouteFilterCORS}, f.Type):
			c.add(here.Field("type").Breaks("weft has no filter %s for one of the backends of a rule; write it into the rule", f.Type))
		}
	}
}
