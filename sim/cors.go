package sim

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
)

// asksLeave is what lets scripts of other origins ask rt, where c is a preflight that is
// answered for it; else nil. Where rt answers by itself Envoy looks for none.
func (c *call) asksLeave(rt *resolve.Route) *route.CORS {
	if c.method != http.MethodOptions || c.headers[route.RequestOrigin] == "" || c.headers[route.PreflightMethod] == "" || !forwards(rt) {
		return nil
	}
	return route.CORSOf(rt.Filters)
}

// preflight answers c. No other filter sees it, and no change of headers touches the answer;
// of gRPC it is none.
func (c *call) preflight(rt *resolve.Route, leave *route.CORS) Branch {
	h := &ResponseHeaders{Set: c.leave(leave)}
	list := func(name string, values []string, asked string) {
		switch {
		case route.Anything(values):
			h.Set[name] = c.headers[asked]
		case len(values) > 0:
			h.Set[name] = strings.Join(values, ", ")
		}
	}
	list(route.AllowMethods, leave.Methods, route.PreflightMethod)
	list(route.AllowHeaders, leave.Headers, route.PreflightHeaders)
	if _, allowed := h.Set[route.AllowOrigin]; allowed && len(leave.Expose) > 0 {
		h.Set[route.ExposeHeaders] = strings.Join(leave.Expose, ", ")
	}
	if leave.Credentials { // which Envoy says to everybody
		h.Set[route.AllowCredentials] = "true"
	}
	if leave.MaxAge != nil {
		h.Set[route.LeaveFor] = strconv.FormatUint(uint64(*leave.MaxAge), 10)
	}
	return Branch{Probability: 1, Outcome: Respond, Status: http.StatusOK, Preflight: true, Route: routeOf(rt), ResponseHeaders: h}
}

// leave are the headers of an answer to c, of whatever kind.
func (c *call) leave(of *route.CORS) Headers {
	out, origin := Headers{}, c.headers[route.RequestOrigin]
	if !of.Allows(origin) {
		return out
	}
	out[route.AllowOrigin] = origin
	if of.Credentials {
		out[route.AllowCredentials] = "true"
	}
	return out
}

// letScripts is what becomes of the answers of rt where scripts of other origins may
// ask: it is the last to change them.
func (b *Branch) letScripts(rt *resolve.Route, c *call) {
	of := route.CORSOf(rt.Filters)
	if of == nil || !forwards(rt) {
		return
	}
	set := c.leave(of)
	if len(set) > 0 && len(of.Expose) > 0 {
		set[route.ExposeHeaders] = strings.Join(of.Expose, ", ")
	}
	b.ResponseHeaders = b.ResponseHeaders.with(set)
	for i := range b.Backends {
		if x := &b.Backends[i]; x.ResponseHeaders != nil {
			x.ResponseHeaders = x.ResponseHeaders.with(set)
		}
	}
}

// with is h with headers that are set after all its changes.
func (h *ResponseHeaders) with(set Headers) *ResponseHeaders {
	if len(set) == 0 {
		return h
	}
	if h == nil {
		h = &ResponseHeaders{Set: Headers{}}
	}
	for name, v := range set {
		h.Set[name] = v
		delete(h.Add, name)
	}
	h.Remove = slices.DeleteFunc(h.Remove, func(name string) bool { _, is := set[name]; return is })
	return h
}
