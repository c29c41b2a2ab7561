package sim

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/wire"
)

// denied is the status with which rt answers c because of the authorization service; 0
// where it lets c pass.
func denied(c *wire.NormalizedRequest, rt *effective.Route) uint32 {
	if c.Authz == "" || c.Authz == authorized || len(route.Authorizations(rt.Filters)) == 0 {
		return 0
	}
	if c.Authz == withoutAuthorizer {
		return http.StatusServiceUnavailable
	}
	n, _ := strconv.ParseUint(c.Authz, 10, 32) // checkAuthz has read it
	return uint32(n)
}

// deny is what becomes of c where rt asks and the service does not let it pass: the
// proxy answers, with the header changes of a route that forwards; Envoy makes none
// where the route would answer itself (measured on 1.40).
func deny(c *wire.NormalizedRequest, from *effective.Resolved, spoken api.Protocol, rt *effective.Route, status uint32) Branch {
	b := respond(c, status)
	if forwards(rt) {
		b.ResponseHeaders = wire.ResponseChanges(rt.Changes(), c.Filling(nil))
		b.answers(b.ResponseHeaders)
	}
	b.Policies, b.unknown = RoutePolicies(from, rt, spoken), c.Doubts
	b.Route, b.Authorization, b.Observed = routeOf(rt), route.Authorizations(rt.Filters), observed(rt.Policies)
	return b
}

// preflightOf is the CORS policy of rt, where c is a preflight that is answered by it; else
// nil. Where rt answers by itself Envoy applies none.
func preflightOf(c *wire.NormalizedRequest, rt *effective.Route) *route.CORS {
	if c.Method != http.MethodOptions || c.Headers[route.RequestOrigin] == "" || c.Headers[route.PreflightMethod] == "" || !forwards(rt) {
		return nil
	}
	return route.CORSOf(rt.Filters)
}

// preflight answers c. No other filter sees it, and no change of headers touches the answer;
// of gRPC it is none.
func preflight(c *wire.NormalizedRequest, rt *effective.Route, policy *route.CORS) Branch {
	h := &wire.ResponseHeaders{Set: allowedOrigin(c, policy)}
	list := func(name string, values []string, asked string) {
		switch {
		case route.Anything(values):
			h.Set[name] = c.Headers[asked]
		case len(values) > 0:
			h.Set[name] = strings.Join(values, ", ")
		}
	}
	list(route.AllowMethods, policy.Methods, route.PreflightMethod)
	list(route.AllowHeaders, policy.Headers, route.PreflightHeaders)
	if _, allowed := h.Set[route.AllowOrigin]; allowed && len(policy.Expose) > 0 {
		h.Set[route.ExposeHeaders] = strings.Join(policy.Expose, ", ")
	}
	if policy.Credentials { // which Envoy says to everybody
		h.Set[route.AllowCredentials] = "true"
	}
	if policy.MaxAge != nil {
		h.Set[route.CORSMaxAge] = strconv.FormatUint(uint64(*policy.MaxAge), 10)
	}
	return Branch{Probability: 1, Outcome: Respond, Status: http.StatusOK, Preflight: true, Route: routeOf(rt), ResponseHeaders: h}
}

// allowedOrigin are the headers that every answer to c has, a preflight's or a backend's:
// none where its origin is not allowed.
func allowedOrigin(c *wire.NormalizedRequest, of *route.CORS) wire.Headers {
	out, origin := wire.Headers{}, c.Headers[route.RequestOrigin]
	if !of.Allows(origin) {
		return out
	}
	out[route.AllowOrigin] = origin
	if of.Credentials {
		out[route.AllowCredentials] = "true"
	}
	return out
}

// redirect builds the location as Envoy does: it keeps what the redirect does
// not name, the query always, and the port of the Host header unless the
// redirect names host or port, or leaves a scheme whose own port it is.
func redirectOf(c *wire.NormalizedRequest, d *route.Redirect, m *match.Match) Branch {
	scheme := c.Headers["x-forwarded-proto"]
	if scheme != "http" && scheme != "https" {
		scheme = "http"
	}
	host, port := c.Authority, ""
	if d.Port != 0 {
		port = ":" + strconv.FormatUint(uint64(d.Port), 10)
	}
	target := scheme
	if d.Scheme != "" {
		target = d.Scheme
	}
	if d.Hostname != "" {
		host = d.Hostname
	} else if bare, own, ok := wire.CutPort(host); ok {
		leaves := target != scheme && (scheme == "http" && own == ":80" || scheme == "https" && own == ":443")
		if port != "" || leaves {
			host = bare
		}
	}
	path := c.Path
	if p, ok := d.Path.Of(m.Path(), c.Path); ok {
		path = p
	}
	b := respond(c, d.Status)
	if b.Status == 0 {
		b.Status = 302
	}
	b.Outcome = Redirect
	b.Location = fmt.Sprintf("%s://%s%s%s%s", target, host, port, path, c.Query)
	return b
}

// respond is an answer of the proxy's own. To a gRPC client it goes as a status
// of gRPC.
func respond(c *wire.NormalizedRequest, status uint32) Branch {
	b := Branch{Probability: 1, Outcome: Respond, Status: status}
	if c.GRPC {
		s := wire.GRPCStatus(status)
		b.GRPCStatus = &s
	}
	return b
}

func routeOf(rt *effective.Route) *Route {
	return &Route{Key: rt.Key, Name: rt.Name, Matches: rt.Matches, Origins: rt.Origins}
}

// unserved is why nobody can take what rt would forward; empty where it forwards nothing as it is written,
// or the reason stands with its backends.
func unserved(rt *effective.Route) string {
	switch {
	case rt.Answer != nil:
		return ""
	case len(rt.Backends) == 0:
		return noBackend
	}
	return weightless(rt.Backends)
}

// noBackend is why nobody takes what a rule without backends would forward.
const noBackend = "the rule has no backend"

// weightless is why no backend has a share; empty where one has.
func weightless(list []effective.Backend) string {
	if len(list) == 0 || slices.ContainsFunc(list, func(b effective.Backend) bool { return b.Weight > 0 }) {
		return ""
	}
	return "the weights of all its backends are 0"
}

// forwards reports whether the proxy tries to forward what rt matches; otherwise
// it answers by itself.
func forwards(rt *effective.Route) bool { return rt.Answers() == nil }

// refuses reports whether the proxy answers c where rt would forward it.
func refuses(c *wire.NormalizedRequest, rt *effective.Route) bool {
	return c.Upgrade == wire.WebSocket && rt.Upgrade == route.UpgradeOff && forwards(rt)
}

// The answers of an authorization service beside a status with which it refuses.
const (
	authorized        = "allow"
	withoutAuthorizer = "down"
)
