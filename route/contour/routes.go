package contour

import (
	"fmt"
	"slices"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// noService is the answer where none of a route's services can be used.
const noService = 503

// rulesOf are the routes of an object that requests come to by the chain; r is broken
// where one of them is.
func rulesOf(r *report, in *chain) []route.Rule {
	spec := r.of.Spec.(*HTTPProxy)
	parsed := spec.parsed()
	out := make([]route.Rule, 0, len(spec.Routes))
	for i := range spec.Routes {
		m := &routeMaker{report: r, spec: &spec.Routes[i], index: i, at: api.Path("spec.routes").Index(i), block: &parsed.routes[i], in: in}
		if rule, ok := m.rule(); ok {
			out = append(out, rule)
		}
	}
	return out
}

// routeMaker reads one route.
type routeMaker struct {
	*report
	spec  *Route
	index int
	at    api.Path
	block *block
	in    *chain
	// service is that whose own headers are read.
	service *Service

	path     path
	backends []route.BackendRef
	mirrors  []route.BackendRef
	filters  []route.Filter
}

func (m *routeMaker) origin() *api.Origin {
	return &api.Origin{Ref: m.of.Ref, Rule: &m.index, Field: m.at}
}

// rule is the route as it stands in the chain; not ok where it is broken.
func (m *routeMaker) rule() (route.Rule, bool) {
	origin := m.origin()
	s := &said{via: m.in.via, insecure: m.spec.PermitInsecure}
	without(m.report, m.at, given{"authPolicy", m.spec.AuthPolicy != nil}, given{"jwtVerificationPolicy", m.spec.JWTVerification != nil},
		given{"ipAllowPolicy", m.spec.IPAllowPolicy != nil}, given{"ipDenyPolicy", m.spec.IPDenyPolicy != nil},
		given{"healthCheckPolicy", m.spec.HealthCheckPolicy != nil}, given{"internalRedirectPolicy", m.spec.InternalRedirect != nil},
		given{"cookieRewritePolicies", m.spec.CookieRewritePolicies != nil})
	m.health(m.spec.HealthCheckPolicy, m.at.Field("healthCheckPolicy"))
	m.cookies(m.spec.CookieRewritePolicies, m.at.Field("cookieRewritePolicies"))
	if !m.conditions(s) {
		return route.Rule{}, false
	}
	s.do = m.action()
	if s.do == nil {
		return route.Rule{}, false
	}
	s.filters, s.upgrade = m.filters, route.UpgradeOff
	if m.spec.EnableWebsockets {
		s.upgrade = route.UpgradeOn
	}
	s.inline = m.inline(origin)
	rule, err := s.rule(origin)
	if err != nil {
		m.fails(routeError, badPath, m.at, "the path cannot be compared: %s; write another", err)
		return route.Rule{}, false
	}
	rule.Backends, rule.Mirrors = m.backends, m.mirrors
	return rule, true
}

// conditions joins those of the route to those of the chain.
func (m *routeMaker) conditions(s *said) bool {
	m.add(m.block.faults...)
	if !m.block.sound {
		m.broken = true
		return false
	}
	if m.in.exact && m.block.path != nil {
		m.fails(routeError, badPath, m.block.path.at, "the path is fixed by the exact condition of an including object; leave it out")
		return false
	}
	all := &chain{headers: slices.Concat(m.in.headers, m.block.headers), queries: slices.Concat(m.in.queries, m.block.queries)}
	if !all.consistent(m.report) {
		m.broken = true
		return false
	}
	m.path = m.in.with(m.block.path)
	s.asked = newAsked(m.path, all.headers, all.queries)
	return true
}

// action is the one thing that the route does; nil where it is none, or wrong.
func (m *routeMaker) action() route.Action {
	if n := count(len(m.spec.Services) > 0, m.spec.RequestRedirectPolicy != nil, m.spec.DirectResponsePolicy != nil); n != 1 {
		m.fails(routeError, "RouteActionCountNotValid", m.at, "it does %d things; write one of services, requestRedirectPolicy, directResponsePolicy", n)
		return nil
	}
	switch {
	case m.spec.RequestRedirectPolicy != nil:
		return m.redirect(m.spec.RequestRedirectPolicy, m.at.Field("requestRedirectPolicy"))
	case m.spec.DirectResponsePolicy != nil:
		return m.respond(m.spec.DirectResponsePolicy, m.at.Field("directResponsePolicy"))
	}
	return m.forward()
}

// count is how many are set.
func count(set ...bool) (n int) {
	for _, is := range set {
		if is {
			n++
		}
	}
	return n
}

func (m *routeMaker) respond(d *DirectResponsePolicy, at api.Path) route.Action {
	if d.StatusCode < 200 || d.StatusCode > 599 {
		m.fails(routeError, "DirectResponsePolicy", at.Field("statusCode"), "%d is no status of an answer; write one from 200 to 599", d.StatusCode)
		return nil
	}
	return &route.Respond{Status: d.StatusCode, Body: d.Body}
}

var redirectStatuses = []uint32{301, 302, 303, 307, 308}

// redirect is the location. What has no status is found elsewhere for now (302).
func (m *routeMaker) redirect(d *RequestRedirect, at api.Path) route.Action {
	out := &route.Redirect{Scheme: d.Scheme, Hostname: d.Hostname, Status: 302}
	wrong := func(field, format string, args ...any) {
		m.fails(routeError, badRedirect, at.Field(field), "%s", fmt.Sprintf(format, args...))
	}
	if d.Scheme != "" && d.Scheme != "http" && d.Scheme != "https" {
		wrong("scheme", "%q is no scheme to redirect to; write http or https", redact.Clip(d.Scheme))
	}
	if d.Hostname != "" {
		if err := api.ValidateHostname("", d.Hostname); err != nil {
			wrong("hostname", "%s", err)
		}
	}
	if d.Port != nil {
		out.Port = uint32(*d.Port)
		if *d.Port < 1 || *d.Port > 65535 {
			wrong("port", "%d is no port; write one from 1 to 65535", *d.Port)
		}
	}
	if d.StatusCode != nil {
		out.Status = *d.StatusCode
		if !slices.Contains(redirectStatuses, out.Status) {
			wrong("statusCode", "%d does not redirect; write one of 301, 302, 303, 307, 308", out.Status)
		}
	}
	switch {
	case d.Path != "" && d.Prefix != "":
		wrong("prefix", "stands beside path; write one of them")
	case d.Path != "":
		out.Path = &route.PathRewrite{Full: &d.Path}
	case d.Prefix != "":
		out.Path = m.replaced(d.Prefix)
	}
	for _, p := range []struct{ field, path string }{{"path", d.Path}, {"prefix", d.Prefix}} {
		if p.path != "" && !plainPath.MatchString(p.path) {
			wrong(p.field, "%q is no path; begin it with a slash, and write no ? or #", redact.Clip(p.path))
		}
	}
	if m.broken {
		return nil
	}
	return out
}
