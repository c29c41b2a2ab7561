package differential

import (
	"fmt"

	"github.com/weftmesh/weft/sim/wire"
)

// byGateway is a theme: worlds as byDocuments has them, whose routes are those of the
// Gateway API, now and then beside those of Kuma.
var byGateway = theme{func(d draw) Source { return Source{Documents: d.aimed(d.gatewayDocuments())} }, draw.gatewayPair, requestsPerWorld}

func (d draw) gatewayDocuments() []m {
	kind := one(d, "HTTPRoute", "HTTPRoute", "GRPCRoute")
	var docs []m
	for _, doc := range d.documents() {
		switch {
		case doc["type"] == "MeshHTTPRoute" && d.chance(9):
			docs = append(docs, d.gatewayRoute(one(d, kind, kind, kind, "HTTPRoute"), doc["name"].(string)))
		case doc["type"] == "MeshHTTPRoute":
			docs = append(docs, doc)
		default:
			docs = append(docs, replaced(doc, "MeshHTTPRoute", kind).(m))
		}
	}
	return docs
}

// replaced is a document with a word in the place of another: refs to routes are then to
// those of another kind.
func replaced(v any, from, to string) any {
	switch v := v.(type) {
	case m:
		out := m{}
		for k, x := range v {
			out[k] = replaced(x, from, to)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = replaced(v[i], from, to)
		}
		return out
	case string:
		if v == from {
			return to
		}
	}
	return v
}

func (d draw) gatewayRoute(kind, name string) m {
	var rules []any
	for i := range 1 + d.IntN(4) {
		r := d.gatewayRule(kind)
		if d.chance(3) {
			r["name"] = fmt.Sprintf("rule-%d", i)
		}
		rules = append(rules, r)
	}
	return m{"type": kind, "mesh": "default", "name": name, "creationTime": fmt.Sprintf("2026-01-0%dT00:00:00Z", 1+d.IntN(3)), "spec": m{
		"parentRefs": []any{one(d, m{"group": "", "kind": "Service", "name": "web"}, m{"group": "", "kind": "Service", "name": "web", "port": 8080})},
		"rules":      rules,
	}}
}

func (d draw) gatewayRule(kind string) m {
	out := m{}
	prefixed := d.chance(4)
	var matches []any
	for range one(d, 0, 1, 1, 2) {
		if kind == "GRPCRoute" {
			matches = append(matches, d.callMatch())
		} else if matches = append(matches, d.gatewayMatch(prefixed)); prefixed {
			break // a prefix can only be replaced where there is one
		}
	}
	if matches != nil {
		out["matches"] = matches
	}
	filters := d.gatewayFilters(kind, prefixed && kind == "HTTPRoute")
	if len(filters) > 0 {
		out["filters"] = filters
	}
	redirects := false
	for _, f := range filters {
		redirects = redirects || f.(m)["type"] == "RequestRedirect"
	}
	if !redirects && !d.chance(1) {
		out["backendRefs"] = d.gatewayBackends(kind)
	}
	if kind == "HTTPRoute" && d.chance(3) {
		out["timeouts"] = one(d, m{"request": "20s"}, m{"request": "0s"}, m{"request": "20s", "backendRequest": "15s"}, m{"backendRequest": "10s"})
	}
	if kind == "HTTPRoute" && d.chance(2) {
		out["retry"] = one(d, m{}, m{"codes": []any{503, 418}, "attempts": 1, "backoff": "10ms"}, m{"attempts": 3, "backoff": "5ms"})
	}
	return out
}

func (d draw) gatewayMatch(prefixed bool) m {
	out := m{}
	kind := one(d, "Exact", "PathPrefix", "PathPrefix", "RegularExpression", "")
	if prefixed {
		kind = "PathPrefix"
	}
	switch kind {
	case "Exact":
		out["path"] = m{"type": kind, "value": one(d, "/", "/v1", "/v1/", "/v1/x", "/a.b", "/%C3%A9")}
	case "PathPrefix":
		out["path"] = m{"type": kind, "value": one(d, "/", "/v1", "/v1/", "/v1/x", "/v2/", "/a.b", "/%C3%A9")}
	case "RegularExpression":
		out["path"] = m{"type": kind, "value": one(d, "/v[0-9]+", "/v1/.*", ".*", "/(a|b)\\.?b?")}
	}
	if d.chance(2) {
		out["method"] = one(d, "GET", "POST", "PUT", "DELETE")
	}
	if headers := d.gatewayValues(headerNames...); headers != nil {
		out["headers"] = headers
	}
	if d.chance(2) {
		out["queryParams"] = []any{one(d, m{"name": "q", "value": "1"}, m{"name": "r", "type": "RegularExpression", "value": "[0-9]+"}, m{"name": "r", "type": "Exact", "value": "x%20y"})}
	}
	return out
}

// gatewayValues are matches of headers; nil for none.
func (d draw) gatewayValues(names ...string) []any {
	var out []any
	for _, name := range some(d, 2, names...) {
		if d.chance(5) {
			out = append(out, m{"name": one(d, name, "X"+name[1:]), "value": one(d, headerValues...)})
		} else {
			out = append(out, m{"name": name, "type": "RegularExpression", "value": one(d, expressions...)})
		}
	}
	return out
}

func (d draw) callMatch() m {
	out := m{}
	switch d.IntN(5) {
	case 0:
		out["method"] = m{"service": one(d, "v1", "a", "b.C")}
	case 1:
		out["method"] = m{"service": one(d, "v1", "a"), "method": one(d, "x", "Do")}
	case 2:
		out["method"] = m{"method": one(d, "x", "Do")}
	case 3:
		out["method"] = m{"type": "RegularExpression", "service": one(d, "v[0-9]", "a|b"), "method": one(d, "[a-z]+", "")}
	}
	if headers := d.gatewayValues(headerNames...); headers != nil {
		out["headers"] = headers
	}
	return out
}

func (d draw) gatewayFilters(kind string, prefixed bool) []any {
	var out []any
	if d.chance(4) {
		out = append(out, m{"type": "RequestHeaderModifier", "requestHeaderModifier": d.modifier("X-A", "x-b", "x-c")})
	}
	if d.chance(3) {
		out = append(out, m{"type": "ResponseHeaderModifier", "responseHeaderModifier": d.modifier("X-Back", "x-c", "x-d")})
	}
	if d.chance(3) {
		mirror := m{"backendRef": m{"group": "kuma.io", "kind": "MeshService", "name": one(d, "v2", "gone"), "port": 8080}}
		switch d.IntN(3) {
		case 0:
			mirror["percent"] = one(d, 0, 20, 100)
		case 1:
			mirror["fraction"] = m{"numerator": 1, "denominator": 8}
		}
		out = append(out, m{"type": "RequestMirror", "requestMirror": mirror})
	}
	if kind == "HTTPRoute" && d.chance(3) {
		out = append(out, m{"type": "CORS", "cors": d.cors()})
	}
	if d.IntN(20) == 0 {
		out = append(out, m{"type": "ExtensionRef", "extensionRef": m{"group": "example.org", "kind": "Thing", "name": "t"}})
	}
	if kind != "HTTPRoute" {
		return out
	}
	switch {
	case d.chance(2):
		out = append(out, m{"type": "RequestRedirect", "requestRedirect": d.redirect(prefixed)})
	case d.chance(4):
		out = append(out, m{"type": "URLRewrite", "urlRewrite": d.rewrite(prefixed)})
	}
	return out
}

func (d draw) gatewayBackends(kind string) []any {
	ref := func(name string, weight int) m {
		return m{"group": "kuma.io", "kind": "MeshService", "name": name, "port": 8080, "weight": weight}
	}
	service := m{"name": "v1", "port": 8080}
	switch d.IntN(8) {
	case 0:
		return []any{service}
	case 1:
		return []any{ref("v1", 90), ref("v2", 10)}
	case 2:
		return []any{ref("v1", 1), m{"name": "gone", "port": 8080, "weight": one(d, 0, 1)}}
	case 3:
		return []any{m{"name": "v1", "weight": 1}, ref("v2", 3)}
	case 4:
		return []any{ref("v1", 0), ref("v2", one(d, 0, 1))}
	case 5:
		return []any{m{"group": "networking.acme.io", "kind": "server", "name": "x"}, ref("v2", 1)}
	case 6:
		own := ref("v1", 1)
		own["filters"] = []any{m{"type": "RequestHeaderModifier", "requestHeaderModifier": d.modifier("x-own", "x-b")}}
		if kind == "HTTPRoute" && d.chance(5) {
			own["filters"] = append(own["filters"].([]any), m{"type": "URLRewrite", "urlRewrite": m{"hostname": "own.example"}})
		}
		return []any{own, ref("v2", 1)}
	}
	return []any{m{"group": "kuma.io", "kind": "MeshExternalService", "name": "outside"}, ref("v2", 1)}
}

// gatewayPair is a pair whose request may be a call.
func (d draw) gatewayPair(w *World) Pair {
	p := d.pair(w)
	if d.chance(3) {
		d.fromOrigin(&p.Request)
	}
	if d.chance(3) {
		p.Request = wire.Request{Method: "POST", URL: "http://web:8080" + one(d, "/v1/x", "/v1/Do", "/a/x", "/b.C/Do", "/a/b/x", "/v2/z", "/"), Version: one(d, "2", ""),
			Headers: wire.Headers{"content-type": one(d, "application/grpc", "application/grpc+proto", "text/plain")}, Answers: "200"}
		for _, name := range some(d, 3, headerNames...) {
			p.Request.Headers.Add(name, one(d, headerValues...))
		}
		p.Chunked = false
	}
	return p
}
