package contour

import (
	"fmt"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// forward sends to the services of the route; nil where something is wrong with the
// route. A service that is not there is left out, and the others have its share.
func (m *routeMaker) forward() route.Action {
	was := m.broken
	m.broken = false
	weights := uint64(0)
	for i := range m.spec.Services {
		m.backend(&m.spec.Services[i], m.at.Field("services").Index(i), &weights)
	}
	if weights == 0 {
		for i := range m.backends {
			m.backends[i].Weight = 1
		}
	}
	m.headers(m.spec.RequestHeadersPolicy, m.at.Field("requestHeadersPolicy"), requestHeaders)
	m.headers(m.spec.ResponseHeadersPolicy, m.at.Field("responseHeadersPolicy"), responseHeaders)
	m.rewrite()
	m.oneHost()
	hash := m.balance()
	ok := !m.broken
	m.broken = m.broken || was
	if !ok {
		return nil
	}
	return &route.Forward{Backends: m.backends, Hash: hash, NoBackend: route.Respond{Status: noService}, NoPolicies: true}
}

// backend adds a backend or a mirror; weights is the sum so far.
func (m *routeMaker) backend(s *Service, at api.Path, weights *uint64) {
	if s.Port < 1 || s.Port > 65535 {
		m.fails(serviceError, "ServicePortInvalid", at.Field("port"), "%d is no port; write one from 1 to 65535", s.Port)
		return
	}
	without(m.report, at, given{"validation", s.Validation != nil}, given{"healthPort", s.HealthPort != nil},
		given{"cookieRewritePolicies", s.CookieRewritePolicies != nil})
	m.cookies(s.CookieRewritePolicies, at.Field("cookieRewritePolicies"))
	if p := s.HealthPort; p != nil && (*p < 1 || *p > 65535) {
		m.fails(serviceError, "ServicePortInvalid", at.Field("healthPort"), "%d is no port; write one from 1 to 65535", *p)
	}
	protocol := m.spoken(s, at)
	b := route.BackendRef{Target: api.TargetRef{Kind: api.KindMeshService, Name: s.Name, Namespace: m.of.HomeNamespace()}, Home: m.of.Home(),
		Port: uint32(s.Port), Weight: s.Weight, Field: at, Speaks: api.HTTP, HTTP2: protocol == "h2c"}
	if !s.Mirror {
		*weights += uint64(s.Weight)
		b.Filters = m.serviceFilters(s, at)
		b.Balance = m.slowStart(s.SlowStartPolicy, at.Field("slowStartPolicy"))
		m.backends = append(m.backends, b)
		return
	}
	if len(m.mirrors) > 0 {
		m.fails(serviceError, "OnlyOneMirror", at.Field("mirror"), "is a second mirror of the route; keep one")
		return
	}
	percent := float64(s.Weight)
	if s.Weight == 0 || s.Weight > 100 {
		percent = 100
	}
	b.Weight = 1
	m.mirrors = append(m.mirrors, b)
	m.filters = append(m.filters, route.Filter{Mirror: &route.Mirror{Backend: b, Percent: percent}})
}

// spoken is how the service is to be spoken to: as the route says, else as annotations of the
// Service do.
func (m *routeMaker) spoken(s *Service, at api.Path) string {
	protocol, by := s.Protocol, ""
	if protocol == "" && m.see != nil {
		if o, ok := m.see.Object(api.Ref{Kind: api.KindService, Mesh: m.of.Mesh, Namespace: m.of.HomeNamespace(), Name: s.Name}); ok {
			if protocol, by = api.Upstream(o, uint32(s.Port)); protocol == "" {
				return ""
			}
			by = fmt.Sprintf("annotation %s of Service %s asks for it: ", by, o.FullName())
		}
	}
	switch protocol {
	case "", "h2c":
	case "tls", "h2": // both are TLS in Contour, and differ in what is spoken inside
		m.fails(routeError, unprotected, at.Field("protocol"), "%sweft does not encrypt connections to a service of the mesh for one route, so the route is not served; remove it, or write h2c for HTTP/2, if the service takes plaintext", by)
	default:
		m.fails(serviceError, "UnsupportedProtocol", at.Field("protocol"), "%q is no protocol; write h2c, or leave it out", redact.Clip(protocol))
	}
	return protocol
}

// serviceFilters change what goes to one service, and its answers.
func (m *routeMaker) serviceFilters(s *Service, at api.Path) []route.Filter {
	own := &routeMaker{report: m.report, service: s}
	own.headers(s.RequestHeadersPolicy, at.Field("requestHeadersPolicy"), requestHeadersOfService)
	own.headers(s.ResponseHeadersPolicy, at.Field("responseHeadersPolicy"), responseHeadersOfService)
	return own.filters
}

// rewrite replaces the prefix of the path (spec/httpproxy.md 6.3).
func (m *routeMaker) rewrite() {
	if m.spec.PathRewritePolicy == nil || len(m.spec.PathRewritePolicy.ReplacePrefix) == 0 {
		return
	}
	list, at := m.spec.PathRewritePolicy.ReplacePrefix, m.at.Field("pathRewritePolicy").Field("replacePrefix")
	if m.in != nil && (m.path.kind != byPrefix || m.path.wild()) {
		m.fails(prefixReplaceError, "MustHavePrefix", at, "the route matches no prefix of the path that could be replaced; match one by prefix, without *")
		return
	}
	var chosen *ReplacePrefix
	first := map[string]int{}
	for i := range list {
		p := &list[i]
		if n, twice := first[p.Prefix]; twice {
			reason := "DuplicateReplacement"
			if p.Prefix == "" {
				reason = "AmbiguousReplacement"
			}
			m.fails(prefixReplaceError, reason, at.Index(i), "is for the prefix of replacePrefix[%d] again; remove one of them", n)
			continue
		}
		first[p.Prefix] = i
		if p.Replacement != "" && !plainPath.MatchString(p.Replacement) {
			m.fails(prefixReplaceError, "ReplacementNotValid", at.Index(i).Field("replacement"), "%q is no path; begin it with a slash, and write no ? or #", redact.Clip(p.Replacement))
		}
		if p.Prefix == m.path.value || p.Prefix == "" && chosen == nil {
			chosen = p
		}
	}
	if chosen != nil {
		m.rewritten().Path = m.replaced(chosen.Replacement)
	}
}

// replaced is what becomes of the path. A rewrite keeps the slash between what it puts
// and what follows; a redirect, and a rewrite of every path, put what is written.
func (m *routeMaker) replaced(replacement string) *route.PathRewrite {
	if m.path.kind != byPrefix || m.path.wild() {
		return &route.PathRewrite{Full: &replacement}
	}
	literal := replacement != "" && (m.path.value == "/" || m.spec.RequestRedirectPolicy != nil)
	return &route.PathRewrite{Prefix: &replacement, Literal: literal}
}

// oneHost refuses a service with a host of its own beside one from a header: Envoy
// would take that of the header, where Contour takes the service's.
func (m *routeMaker) oneHost() {
	rewrite := route.LastRewrite(m.filters)
	if rewrite == nil || rewrite.HostHeader == "" {
		return
	}
	for i := range m.backends {
		if own := route.LastRewrite(m.backends[i].Filters); own != nil {
			m.fails(serviceError, requestHeadersOfService.reason, m.backends[i].Field.Field("requestHeadersPolicy"), "sets a host beside that which the route takes from a header; write one of them")
		}
	}
}
