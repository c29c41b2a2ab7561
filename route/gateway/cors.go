package gateway

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// originSyntax is an origin: a scheme, a host, which may begin with *. or be one *, and
// perhaps a port.
var originSyntax = regexp.MustCompile(`^(https?)://(\*|(\*\.)?(?:[a-zA-Z0-9-]+\.)*[a-zA-Z0-9-]+)(?::([0-9]{1,5}))?$`)

// usualPorts are those that an origin does not name.
var usualPorts = map[string]string{"http": "80", "https": "443"}

// anyHost is what a * alone stands for, anyLabels what it stands for in front of a name.
const (
	anyHost   = `(\[[0-9a-f:.]+\]|[^:/]+)`
	anyLabels = `[^:/]+\.`
)

// originOf reads an origin; not ok where it is none. Browsers leave out the port that is
// usual for the scheme.
func originOf(text string) (out route.AllowedOrigin, ok bool) {
	out.Text = text
	if text == "*" {
		is, err := match.Has(match.OnHeader, route.RequestOrigin, 0)
		out.Is = is
		return out, err == nil
	}
	parts := originSyntax.FindStringSubmatch(strings.ToLower(text))
	if parts == nil {
		return out, false
	}
	scheme, host, port := parts[1], parts[2], parts[4]
	if n, err := strconv.ParseUint(port, 10, 16); port != "" && (err != nil || n == 0) {
		return out, false
	}
	expression := scheme + "://"
	switch {
	case host == "*":
		expression += anyHost
	case parts[3] != "":
		expression += anyLabels + regexp.QuoteMeta(host[len("*."):])
	default:
		expression += regexp.QuoteMeta(host)
	}
	if usual := usualPorts[scheme]; port == "" || port == usual {
		expression += "(:" + usual + ")?"
	} else {
		expression += ":" + port
	}
	is, err := match.MatchAll(match.OnHeader, route.RequestOrigin, 0, expression)
	out.Is = is
	return out, err == nil
}

// defaultMaxAge is for how many seconds a preflight holds where nobody says it.
const defaultMaxAge = 5

// cors reads a filter.
func (x *reader) cors(o *api.Origin, f *gatewayv1.HTTPCORSFilter, at api.Path) *route.CORS {
	out := &route.CORS{Credentials: or(f.AllowCredentials, false), MaxAge: new(uint32(defaultMaxAge))}
	if f.MaxAge != 0 {
		*out.MaxAge = uint32(f.MaxAge)
	}
	for _, text := range f.AllowOrigins {
		origin, _ := originOf(string(text)) // which has been checked
		out.Origins = append(out.Origins, origin)
	}
	for _, m := range f.AllowMethods {
		out.Methods = append(out.Methods, string(m))
	}
	out.Headers, out.Expose = names(f.AllowHeaders), names(f.ExposeHeaders)
	if i := slices.Index(out.Expose, "*"); i >= 0 && out.Credentials {
		x.note(o, api.Warning, api.CodeUnsupported, at.Field("exposeHeaders").Index(i), "with allowCredentials browsers take * for the name of a header, so it is left out; name the headers")
		named := slices.DeleteFunc(out.Expose, func(name string) bool { return name == "*" })
		out.Expose = append([]string(nil), named...) // nil where none is left, as where none is written
	}
	return out
}

func names(list []gatewayv1.HTTPHeaderName) []string {
	var out []string
	for _, n := range list {
		out = append(out, string(n))
	}
	return out
}

// unasked warns of a rule whose filter CORS is never asked.
func (x *reader) unasked(s *said, r *route.Rule, filters []gatewayv1.HTTPRouteFilter, at api.Path) {
	i := slices.IndexFunc(filters, func(f gatewayv1.HTTPRouteFilter) bool { return f.Type == gatewayv1.HTTPRouteFilterCORS })
	if i < 0 {
		return
	}
	if at = at.Index(i); s.redirect != nil {
		x.note(r.Origin, api.Warning, api.CodeUnsupported, at, "Envoy redirects without CORS, so the filter has no effect; remove it, or forward")
		return
	}
	reached := slices.ContainsFunc(r.Matches, func(m match.Match) bool {
		return !slices.ContainsFunc(m.Conditions, func(c match.Condition) bool {
			return c.On == match.OnMethod && !c.Holds(&match.Request{Method: "OPTIONS"})
		})
	})
	if !reached {
		x.note(r.Origin, api.Warning, api.CodeUnsupported, at, "no match of the rule takes OPTIONS, by which browsers send a preflight before other methods than GET, HEAD and POST; add a match with method OPTIONS")
	}
}

const (
	maxCORSMethods = 9
	maxCORSNames   = 64
)

// cors checks a filter.
func (c *checker) cors(at api.Path, f *gatewayv1.HTTPCORSFilter) {
	if f == nil {
		return
	}
	origins, allowed := at.Field("allowOrigins"), at.Field("allowMethods")
	c.long(origins, len(f.AllowOrigins), maxCORSNames)
	for i, o := range f.AllowOrigins {
		if _, ok := originOf(string(o)); !ok || len(o) > 253 {
			c.add(origins.Index(i).Breaks("%q is no origin; write one such as https://example.com, https://*.example.com, http://example.com:8080, or * alone", redact.Clip(string(o))))
		}
	}
	alone(c, origins, f.AllowOrigins)
	c.long(allowed, len(f.AllowMethods), maxCORSMethods)
	for i, m := range f.AllowMethods {
		if m != "*" && !slices.Contains(methods, gatewayv1.HTTPMethod(m)) {
			c.add(allowed.Index(i).Breaks("%q is no method; write one such as PUT, or * alone", redact.Clip(string(m))))
		}
	}
	alone(c, allowed, f.AllowMethods)
	for _, list := range []struct {
		at    api.Path
		names []gatewayv1.HTTPHeaderName
	}{{at.Field("allowHeaders"), f.AllowHeaders}, {at.Field("exposeHeaders"), f.ExposeHeaders}} {
		c.long(list.at, len(list.names), maxCORSNames)
		for i, n := range list.names {
			if n != "*" {
				c.add(route.CheckHeaderName(list.at.Index(i), strings.ToLower(string(n))))
			}
		}
	}
	alone(c, at.Field("allowHeaders"), f.AllowHeaders)
	if f.MaxAge < 0 {
		c.add(at.Field("maxAge").Breaks("%d is no time; write 1 or more seconds", f.MaxAge))
	}
}

// alone wants no value beside a *.
func alone[T ~string](c *checker, at api.Path, list []T) {
	if i := slices.Index(list, "*"); i >= 0 && len(list) > 1 {
		c.add(at.Index(i).Breaks("* stands for all, and beside others; write it alone, or name them"))
	}
}

// cors writes the filter.
func (p *printer) cors(c *route.CORS) *gatewayv1.HTTPCORSFilter {
	out := &gatewayv1.HTTPCORSFilter{}
	if c.Credentials {
		out.AllowCredentials = new(true)
	}
	for _, o := range c.Origins {
		if own, ok := originOf(o.Text); !ok || own.Means() != o.Means() {
			p.Fail(route.UnsaidFilter, "an HTTPRoute cannot name the origins that %s stands for", o.Text)
		}
		out.AllowOrigins = append(out.AllowOrigins, gatewayv1.CORSOrigin(o.Text))
	}
	for _, m := range c.Methods {
		out.AllowMethods = append(out.AllowMethods, gatewayv1.HTTPMethodWithWildcard(m))
	}
	for _, n := range c.Headers {
		out.AllowHeaders = append(out.AllowHeaders, gatewayv1.HTTPHeaderName(n))
	}
	for _, n := range c.Expose {
		out.ExposeHeaders = append(out.ExposeHeaders, gatewayv1.HTTPHeaderName(n))
	}
	if c.MaxAge == nil || *c.MaxAge == 0 {
		p.Fail(route.UnsaidFilter, "an HTTPRoute says for how many seconds a preflight holds")
	} else {
		out.MaxAge = int32(*c.MaxAge)
	}
	return out
}
