package contour

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
)

// health checks how the endpoints of the route would be asked.
func (m *routeMaker) health(p *HealthCheckPolicy, at api.Path) {
	if p == nil {
		return
	}
	wrong := func(at api.Path, format string, args ...any) {
		m.fails(routeError, "HealthCheckPolicyInvalid", at, format, args...)
	}
	if !strings.HasPrefix(p.Path, "/") {
		wrong(at.Field("path"), "%q is no path; begin it with a slash", redact.Clip(p.Path))
	}
	for _, n := range []struct {
		field string
		value int64
	}{{"intervalSeconds", p.IntervalSeconds}, {"timeoutSeconds", p.TimeoutSeconds}, {"unhealthyThresholdCount", p.UnhealthyThresholdCount}, {"healthyThresholdCount", p.HealthyThresholdCount}} {
		if n.value < 0 {
			wrong(at.Field(n.field), "%d is negative; write 1 or more, or leave it out", n.value)
		}
	}
	for i, s := range p.ExpectedStatuses {
		if s.Start < 100 || s.End > 600 || s.Start >= s.End {
			wrong(at.Field("expectedStatuses").Index(i), "%d to %d is no range of statuses; start is at least 100, end at most 600 and not included, and start less than end", s.Start, s.End)
		}
	}
}

var aggression = regexp.MustCompile(`^([0-9]+([.][0-9]+)?|[.][0-9]+)$`)

// slowStart is how a new endpoint of a service comes to its share. Envoy takes the
// reciprocal of the aggression for the exponent.
func (m *routeMaker) slowStart(p *SlowStartPolicy, at api.Path) (out route.Balance) {
	if p == nil {
		return out
	}
	wrong := func(at api.Path, format string, args ...any) {
		m.fails(serviceError, "SlowStartInvalid", at, format, args...)
	}
	d, err := time.ParseDuration(p.Window)
	if err != nil || d < time.Millisecond {
		wrong(at.Field("window"), "%q is no length of time; write one such as 30s", redact.Clip(p.Window))
	}
	out = route.Balance{SlowStart: api.Duration(d), Exponent: 1, LeastWeight: leastWeight}
	if p.Aggression != "" {
		n, err := strconv.ParseFloat(p.Aggression, 64)
		if err != nil || !aggression.MatchString(p.Aggression) || n < 0.001 || n > 1000 {
			wrong(at.Field("aggression"), "%q is no number from 0.001 to 1000; write one such as 1.0", redact.Clip(p.Aggression))
		} else {
			out.Exponent = 1 / n
		}
	}
	if p.MinWeightPercent != nil {
		if out.LeastWeight = *p.MinWeightPercent; out.LeastWeight > 100 {
			wrong(at.Field("minWeightPercent"), "%d is no percentage; write one from 0 to 100", out.LeastWeight)
		}
	}
	if b := m.spec.LoadBalancerPolicy; b != nil && slices.Contains([]string{"Cookie", "Random", "RequestHash"}, b.Strategy) {
		wrong(at, "there is no slow start with the strategy %s; write RoundRobin or WeightedLeastRequest, or remove it", b.Strategy)
	}
	return out
}

// leastWeight is how many percent of its share a new endpoint has at least, where nobody
// says it.
const leastWeight = 10

var sameSites = []string{"Strict", "Lax", "None"}

// cookies checks how attributes of cookies would be changed.
func (m *routeMaker) cookies(list []CookieRewritePolicy, at api.Path) {
	wrong := func(at api.Path, format string, args ...any) {
		m.fails(routeError, "CookieRewritePoliciesInvalid", at, format, args...)
	}
	first := map[string]int{}
	for i, c := range list {
		here := at.Index(i)
		if route.CheckCookieName("", c.Name) != nil {
			wrong(here.Field("name"), "%q is no name of a cookie; write one", redact.Clip(c.Name))
		} else if n, twice := first[c.Name]; twice {
			wrong(here.Field("name"), "is for the cookie of cookieRewritePolicies[%d] again; remove one of them", n)
		} else {
			first[c.Name] = i
		}
		if c.PathRewrite == nil && c.DomainRewrite == nil && c.Secure == nil && c.SameSite == nil {
			wrong(here, "changes nothing; write pathRewrite, domainRewrite, secure or sameSite")
		}
		if c.SameSite != nil && !slices.Contains(sameSites, *c.SameSite) {
			wrong(here.Field("sameSite"), "%q is none of Strict, Lax, None; write one of them", redact.Clip(*c.SameSite))
		}
		for _, v := range []struct {
			field string
			to    *CookieRewrite
		}{{"pathRewrite", c.PathRewrite}, {"domainRewrite", c.DomainRewrite}} {
			if v.to != nil && v.to.Value == "" {
				wrong(here.Field(v.field).Field("value"), "is missing; write the new value")
			}
		}
	}
}

// check says what is wrong with what requests would be counted by for all proxies together.
func (p *GlobalRateLimit) check(r *report, at api.Path, kind string) {
	if p == nil {
		return
	}
	wrong := func(at api.Path, format string, args ...any) { r.fails(kind, badRate, at, format, args...) }
	for i, d := range p.Descriptors {
		if len(d.Entries) == 0 {
			wrong(at.Field("descriptors").Index(i).Field("entries"), "are missing; write by what requests are counted")
		}
		for j, e := range d.Entries {
			here := at.Field("descriptors").Index(i).Field("entries").Index(j)
			if count(e.GenericKey != nil, e.RequestHeader != nil, e.RequestHeaderValueMatch != nil, e.RemoteAddress != nil) != 1 {
				wrong(here, "must have exactly one of genericKey, requestHeader, requestHeaderValueMatch, remoteAddress")
			}
			if g := e.GenericKey; g != nil && g.Value == "" {
				wrong(here.Field("genericKey").Field("value"), "is missing; write one")
			}
			if h := e.RequestHeader; h != nil && (h.DescriptorKey == "" || route.CheckHeaderName("", strings.ToLower(h.HeaderName)) != nil) {
				wrong(here.Field("requestHeader"), "must name a header and a key; write headerName and descriptorKey")
			}
			e.RequestHeaderValueMatch.check(wrong, here.Field("requestHeaderValueMatch"))
		}
	}
}

func (h *RequestHeaderValueMatch) check(wrong func(at api.Path, format string, args ...any), at api.Path) {
	if h == nil {
		return
	}
	if h.Value == "" {
		wrong(at.Field("value"), "is missing; write one")
	}
	if len(h.Headers) == 0 {
		wrong(at.Field("headers"), "are missing; write those that a request needs")
	}
	for i := range h.Headers {
		if _, v := h.Headers[i].read(at.Field("headers").Index(i)); v != nil {
			wrong(v.Field, "%s", v.Message)
		}
	}
}

// tcpProxyError is the type of errors of connections.
const tcpProxyError = "TCPProxyError"

// connections checks where the connections of a host would go.
func connections(r *report) {
	spec := r.of.Spec.(*HTTPProxy)
	p, at := spec.TCPProxy, api.Path("spec.tcpproxy")
	if p == nil {
		return
	}
	wrong := r.fails
	if !isRoot(r.of) { // whose routes are there for others, whoever takes its connections
		wrong = r.errs
	}
	includes := p.Include != nil || p.IncludesDeprecated != nil
	switch {
	case spec.VirtualHost != nil && spec.VirtualHost.TLS == nil:
		wrong(tcpProxyError, "TLSMustBeConfigured", at, "needs TLS, by whose name connections are told apart; write virtualhost.tls")
	case len(p.Services) > 0 && includes:
		wrong(tcpProxyError, "NoServicesAndInclude", at, "has services and an include; write one of them")
	case len(p.Services) == 0 && !includes:
		wrong(tcpProxyError, "NothingDefined", at, "sends connections nowhere; write services or include")
	}
	if p.IncludesDeprecated != nil {
		r.warns(specError, deprecated, at.Field("includes"), "is an older name; write include")
	}
	for i, s := range p.Services {
		if s.Port < 1 || s.Port > 65535 {
			wrong(serviceError, "ServicePortInvalid", at.Field("services").Index(i).Field("port"), "%d is no port; write one from 1 to 65535", s.Port)
		}
	}
	if b := p.LoadBalancerPolicy; b != nil && (b.Strategy == "Cookie" || b.Strategy == "RequestHash") {
		r.warns(tcpProxyError, ignored, at.Field("loadBalancerPolicy"), "%s looks at requests, and a connection has none; write another strategy", b.Strategy)
	}
}
