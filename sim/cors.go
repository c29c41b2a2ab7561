package sim

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/wire"
)

// preflightOf is the CORS policy of rt, where c is a preflight that is answered by it; else
// nil. Where rt answers by itself Envoy applies none.
func preflightOf(c *wire.Call, rt *effective.Route) *route.CORS {
	if c.Method != http.MethodOptions || c.Headers[route.RequestOrigin] == "" || c.Headers[route.PreflightMethod] == "" || !forwards(rt) {
		return nil
	}
	return route.CORSOf(rt.Filters)
}

// preflight answers c. No other filter sees it, and no change of headers touches the answer;
// of gRPC it is none.
func preflight(c *wire.Call, rt *effective.Route, policy *route.CORS) Branch {
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
func allowedOrigin(c *wire.Call, of *route.CORS) wire.Headers {
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

// changeForCORS is what the CORS policy of rt makes of its answers: it is the last to change
// them.
func (b *Branch) changeForCORS(rt *effective.Route, c *wire.Call) {
	of := route.CORSOf(rt.Filters)
	if of == nil || !forwards(rt) {
		return
	}
	set := allowedOrigin(c, of)
	if len(set) > 0 && len(of.Expose) > 0 {
		set[route.ExposeHeaders] = strings.Join(of.Expose, ", ")
	}
	b.ResponseHeaders = b.ResponseHeaders.With(set)
	for i := range b.Backends {
		if x := &b.Backends[i]; x.ResponseHeaders != nil {
			x.ResponseHeaders = x.ResponseHeaders.With(set)
		}
	}
}
