package differential

import (
	"github.com/weftmesh/weft/sim/wire"
)

// cors draws the filter CORS of the Gateway API.
func (d draw) cors() m {
	out := m{}
	if origins := some(d, 4, "https://a.example", "https://*.b.example", "http://a.example:8080", "HTTP://a.example:80", "https://*:8443"); d.chance(2) {
		out["allowOrigins"] = []any{"*"}
	} else if origins != nil {
		out["allowOrigins"] = origins
	}
	if d.chance(4) {
		out["allowCredentials"] = d.chance(7)
	}
	for _, field := range []struct {
		name  string
		lists [][]any
	}{{"allowMethods", [][]any{{"*"}, {"PUT"}, {"GET", "DELETE"}}}, {"allowHeaders", [][]any{{"*"}, {"X-A"}, {"x-a", "x-b"}}}, {"exposeHeaders", [][]any{{"*"}, {"X-Back"}, {"x-c", "*"}}}} {
		if d.chance(6) {
			out[field.name] = one(d, field.lists...)
		}
	}
	if d.chance(4) {
		out["maxAge"] = 60
	}
	return out
}

// corsPolicy draws that of an HTTPProxy.
func (d draw) corsPolicy() m {
	origins := append(some(d, 3, "https://a.example", "*", `https://.*[.]b\.example`, "http://a.example:8080", "(?i)https://a.example"), "https://c.example:8443")
	out := m{"allowOrigin": origins, "allowMethods": one(d, []any{"*"}, []any{"PUT"}, []any{"GET", "*"})}
	if d.chance(5) {
		out["allowCredentials"] = true
	}
	for _, field := range []string{"allowHeaders", "exposeHeaders"} {
		if d.chance(6) {
			out[field] = one(d, []any{"*"}, []any{"X-A"}, []any{"x-back", "*"})
		}
	}
	if d.chance(4) {
		out["maxAge"] = one(d, "0", "90s", "1.5s")
	}
	return out
}

// fromOrigin makes a request one of a script, or its preflight.
func (d draw) fromOrigin(q *wire.Request) {
	for range one(d, 1, 1, 1, 1, 2, 0) {
		q.Headers.Add("origin", one(d, "https://a.example", "https://a.example:443", "https://x.y.b.example", "https://b.example", "http://a.example", "http://a.example:8080", "http://a.example:80",
			"https://c.example:8443", "https://A.example", "null", ""))
	}
	if d.chance(6) {
		q.Method = one(d, "OPTIONS", "OPTIONS", "OPTIONS", "GET")
		q.Headers.Add("access-control-request-method", one(d, "PUT", "GET", "PURGE", ""))
	}
	if d.chance(4) {
		q.Headers.Add("access-control-request-headers", one(d, "x-a", "x-b, X-C", ""))
	}
}
