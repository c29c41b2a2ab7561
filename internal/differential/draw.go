package differential

import (
	"fmt"
	"math/rand/v2"
)

type m = map[string]any

// draw makes random documents and requests whose names, paths and values meet
// often. Every document is valid.
type draw struct {
	*rand.Rand
	seed  uint64
	world uint64 // its number, of those of a seed
}

func newDraw(seed, world uint64) draw {
	return draw{rand.New(rand.NewPCG(seed, world)), seed, world}
}

// beside draws from a stream of its own for the same world, so that what is drawn with it leaves all else that the
// world has as it was.
func (d draw) beside(stream uint64) draw {
	return draw{rand.New(rand.NewPCG(d.seed^stream<<32, d.world)), d.seed, d.world}
}

// Streams of beside.
const (
	endpointStream = 1 + iota
	faultStream
)

// one is one of list.
func one[T any](d draw, list ...T) T { return list[d.IntN(len(list))] }

// some are those of list that n of 10 throws take, in their order.
func some[T any](d draw, n int, list ...T) []T {
	var out []T
	for _, v := range list {
		if d.chance(n) {
			out = append(out, v)
		}
	}
	return out
}

// chance holds in n of 10 cases.
func (d draw) chance(n int) bool { return d.IntN(10) < n }

var (
	routeNames  = []string{"r1", "r2", "r3"}
	headerNames = []string{"x-a", "x-b"}
	expressions = []string{"1.*", "[0-9]+", "a b|1", ".*", `(\xC3\xA9)+`, `[^a]`, `\p{L}+`, `(?i)\xC9`, `..`}
	// headerValues are ASCII, UTF-8, and what only looks like ASCII.
	headerValues = []string{"1", "12", "a b", "é", "éé", "日本", "\u212a"}
)

// outsideName is what lies outside the mesh.
const outsideName = "outside.localhost"

// documents are a client of web, those who answer, routes and policies.
func (d draw) documents() []m {
	docs := []m{
		{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "outbound": []any{
			m{"port": 10001, "backendRef": m{"kind": "MeshService", "name": "web", "port": 8080}},
		}, "inbound": []any{inbound("client", "1", one(d, "http", "tcp", "grpc"), 19000)}}},
		{"type": "MeshExternalService", "mesh": "default", "name": "outside", "spec": m{
			"match":     m{"type": "HostnameGenerator", "port": 80, "protocol": "http"},
			"endpoints": []any{m{"address": outsideName, "port": 80}},
		}},
	}
	docs = append(docs, d.services()...)
	for _, name := range routeNames[:1+d.IntN(3)] {
		docs = append(docs, d.route(name))
	}
	for i := range d.IntN(5) {
		docs = append(docs, d.policy(fmt.Sprintf("p%d", i)))
	}
	docs = append(docs, d.beside(endpointStream).spread()...)
	return append(docs, d.beside(faultStream).certain()...)
}

func inbound(service, version, protocol string, port int) m {
	return m{"port": port, "tags": m{"kuma.io/service": service, "kuma.io/protocol": protocol, "version": version}}
}

func (d draw) route(name string) m {
	var rules []any
	for range 1 + d.IntN(4) {
		rules = append(rules, d.rule())
	}
	return m{"type": "MeshHTTPRoute", "mesh": "default", "name": name, "spec": m{
		"targetRef": one(d, m{"kind": "Mesh"}, m{"kind": "MeshSubset", "tags": m{"version": "1"}}),
		"to":        []any{m{"targetRef": m{"kind": "MeshService", "name": "web"}, "rules": rules}},
	}}
}

func (d draw) rule() m {
	prefixed := d.chance(4)
	var matches []any
	for range one(d, 1, 1, 2, 3) {
		matches = append(matches, d.match(prefixed))
	}
	def := m{}
	if d.chance(7) {
		def["filters"] = d.filters(prefixed)
	}
	if refs := d.backends(); refs != nil {
		def["backendRefs"] = refs
	}
	return m{"matches": matches, "default": def}
}

// match is one with a prefix, if one must be there for a filter.
func (d draw) match(prefixed bool) m {
	out := m{}
	kind := one(d, "Exact", "PathPrefix", "PathPrefix", "RegularExpression", "RegularExpression", "")
	if prefixed {
		kind = "PathPrefix"
	}
	switch kind {
	case "Exact":
		out["path"] = m{"type": kind, "value": one(d, "/", "/v1", "/v1/x", "/a.b", "/v2/", "/%C3%A9")}
	case "PathPrefix":
		out["path"] = m{"type": kind, "value": one(d, "/", "/v1", "/v1/x", "/v2", "/a.b", "/%C3%A9", "/v1/%E6%97%A5")}
	case "RegularExpression":
		out["path"] = m{"type": kind, "value": one(d, "/v[0-9]+", "/v1/.*", "/(%C3%A9)+", "/\\p{L}+.*", "/(a|b)\\.?b?", ".*", "/v1")}
	}
	if d.chance(2) {
		out["method"] = one(d, "GET", "POST", "PUT", "DELETE")
	}
	var headers, query []any
	for _, name := range some(d, 2, headerNames...) {
		headers = append(headers, d.header(name))
	}
	for _, name := range some(d, 2, "q", "r") {
		q := m{"type": "Exact", "name": name, "value": one(d, "1", "x%20y", "2")}
		if d.chance(4) {
			q["type"], q["value"] = "RegularExpression", one(d, expressions...)
		}
		query = append(query, q)
	}
	if headers != nil {
		out["headers"] = headers
	}
	if query != nil {
		out["queryParams"] = query
	}
	if len(out) == 0 {
		out["method"] = "GET"
	}
	return out
}

func (d draw) header(name string) m {
	switch kind := one(d, "Exact", "", "Present", "Absent", "RegularExpression", "Prefix"); kind {
	case "Present", "Absent":
		return m{"type": kind, "name": name}
	case "RegularExpression":
		return m{"type": kind, "name": name, "value": one(d, expressions...)}
	case "":
		return m{"name": name, "value": one(d, headerValues...)}
	default:
		return m{"type": kind, "name": name, "value": one(d, headerValues...)}
	}
}

func (d draw) filters(prefixed bool) []any {
	out := []any{}
	if d.chance(5) {
		out = append(out, m{"type": "RequestHeaderModifier", "requestHeaderModifier": d.modifier("x-a", "x-b", "x-c")})
	}
	if d.chance(1) {
		out = append(out, m{"type": "RequestHeaderModifier", "requestHeaderModifier": d.oddChanges(false)})
	}
	if d.chance(1) {
		out = append(out, m{"type": "ResponseHeaderModifier", "responseHeaderModifier": d.oddChanges(true)})
	}
	if d.chance(4) {
		out = append(out, m{"type": "ResponseHeaderModifier", "responseHeaderModifier": d.modifier("x-back", "x-c", "x-d")})
	}
	switch {
	case d.chance(3):
		out = append(out, m{"type": "RequestRedirect", "requestRedirect": d.redirect(prefixed)})
	case d.chance(5):
		out = append(out, m{"type": "URLRewrite", "urlRewrite": d.rewrite(prefixed)})
	}
	if d.chance(3) {
		out = append(out, m{"type": "RequestMirror", "requestMirror": m{
			"percentage": one[any](d, 100, 0, "12.5"),
			"backendRef": m{"kind": "MeshService", "name": one(d, "v2", "gone"), "port": 8080},
		}})
	}
	return out
}

// modifier uses each name once at most, and something at least once.
func (d draw) modifier(names ...string) m {
	out := m{}
	add := func(list, name string) {
		old, _ := out[list].([]any)
		if list == "remove" {
			out[list] = append(old, name)
			return
		}
		out[list] = append(old, m{"name": name, "value": one(d, "1", "two words", "é 日本", "50%", "%REQ(x-a)%", `back\1slash`)})
	}
	add(one(d, "set", "add", "remove"), names[0])
	for _, name := range names[1:] {
		if d.chance(5) {
			add(one(d, "set", "add", "remove"), name)
		}
	}
	return out
}

func (d draw) redirect(prefixed bool) m {
	out := m{}
	if d.chance(4) {
		out["scheme"] = one(d, "http", "https")
	}
	if d.chance(4) {
		out["hostname"] = "example.org"
	}
	if d.chance(4) {
		out["port"] = one(d, 80, 443, 8443)
	}
	if d.chance(5) {
		out["path"] = d.pathRewrite(prefixed)
	}
	if d.chance(5) {
		out["statusCode"] = one(d, 301, 302, 303, 307, 308)
	}
	return out
}

func (d draw) rewrite(prefixed bool) m {
	out := m{}
	if d.chance(5) {
		out["hostname"] = "rewritten.example"
	}
	if len(out) == 0 || d.chance(7) {
		out["path"] = d.pathRewrite(prefixed)
	}
	return out
}

func (d draw) pathRewrite(prefixed bool) m {
	if prefixed && d.chance(7) {
		return m{"type": "ReplacePrefixMatch", "replacePrefixMatch": one(d, "/", "//", "/new", "/new/", "/new//", "/v1/v1", "/%C3%A9", `/b\1`)}
	}
	return m{"type": "ReplaceFullPath", "replaceFullPath": one(d, "/", "/full", "/full/path", `/b\1`)}
}

// backends is nil where the rule leaves them out.
func (d draw) backends() []any {
	ref := func(name string) m { return m{"kind": "MeshService", "name": name, "port": 8080} }
	weigh := func(r m, w int) m { r["weight"] = w; return r }
	outside := m{"kind": "MeshExternalService", "name": "outside"}
	switch d.IntN(10) {
	case 8:
		return []any{weigh(m{"kind": "MeshServiceSubset", "name": "v1", "tags": m{"version": one(d, "1", "2")}}, 3), weigh(ref("v2"), 1), weigh(outside, one(d, 0, 2))}
	case 0:
		return []any{ref("v1")}
	case 1:
		return []any{weigh(ref("v1"), 90), weigh(ref("v2"), 10)}
	case 2:
		return []any{weigh(ref("v1"), 1), weigh(ref("gone"), one(d, 0, 1))}
	case 3:
		return []any{ref("gone")}
	case 4:
		return []any{weigh(ref("v1"), 0), weigh(ref("v2"), one(d, 0, 1))}
	case 5:
		return []any{outside}
	case 6:
		return []any{weigh(ref("v1"), 1<<31), weigh(ref("v2"), 1<<31), weigh(m{"kind": "MeshServiceSubset", "name": "v1", "tags": m{"version": one(d, "1", "2", "3")}}, 1)}
	case 7:
		return []any{}
	}
	return nil
}
