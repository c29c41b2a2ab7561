package differential

import (
	"fmt"
	"strings"
)

// proxyHost is the host that the roots of drawn HTTPProxies serve.
const proxyHost = "h.example"

// byProxies draws trees of HTTPProxies, and requests for their host.
var byProxies = theme{func(d draw) Source { return Source{Documents: d.aimed(d.proxies())} }, draw.proxyPair, requestsPerWorld}

// proxies are a client of the host, those who answer, a root with what it includes, and
// policies.
func (d draw) proxies() []m {
	docs := append([]m{callerOfHosts(10001)}, d.services()...)
	docs = append(docs, d.proxyTree("root")...)
	for i := range d.IntN(3) {
		docs = append(docs, d.policy(fmt.Sprintf("p%d", i)))
	}
	return docs
}

// proxyTree is a root with what it includes.
func (d draw) proxyTree(name string) []m {
	kids := []string{"k1", "k2", "k3"}
	root := d.proxy(kids, 2+d.IntN(4))
	host := m{"fqdn": one(d, proxyHost, proxyHost, "*.example")}
	if d.chance(3) {
		host["corsPolicy"] = d.corsPolicy()
	}
	root["virtualhost"] = host
	docs := []m{proxyDocument(name, root)}
	for i, name := range kids {
		docs = append(docs, proxyDocument(name, d.proxy(kids[i:], 1+d.IntN(3))))
	}
	return docs
}

func proxyDocument(name string, spec m) m {
	return m{"type": "HTTPProxy", "mesh": "default", "name": name, "spec": spec}
}

func (d draw) proxy(kids []string, routes int) m {
	var list, includes []any
	for range routes {
		list = append(list, d.proxyRoute())
	}
	for _, kid := range some(d, 4, append(kids, "nobody")...) {
		include := m{"name": kid}
		if c := d.proxyConditions(true); c != nil {
			include["conditions"] = c
		}
		includes = append(includes, include)
	}
	spec := m{"routes": list}
	if includes != nil {
		spec["includes"] = includes
	}
	return spec
}

// proxyConditions are those of a route, or of an include, which may ask less of paths.
func (d draw) proxyConditions(include bool) []any {
	var out []any
	kind := one(d, "prefix", "prefix", "prefix", "", "wild", "exact", "regex")
	if include {
		kind = one(d, "prefix", "prefix", "prefix", "")
	}
	switch kind {
	case "prefix":
		out = append(out, m{"prefix": one(d, "/", "/a", "/a/", "/b", "/ab", "/v1", "/a.b")})
	case "wild":
		out = append(out, m{"prefix": one(d, "/*/b", "/a*b", "/a/*/x", "/*/*/x")})
	case "exact":
		out = append(out, m{"exact": one(d, "/", "/a", "/a/", "/a/b", "/v1/x")})
	case "regex":
		out = append(out, m{"regex": one(d, "/.*", "/a|/b.*", "/[^/]+/x", "/(?i)A.*", "/a.b|.*")})
	}
	for _, name := range some(d, 2, headerNames...) {
		h := m{"name": name}
		op := one(d, "exact", "notexact", "contains", "notcontains", "regex", "present", "notpresent")
		switch op {
		case "present", "notpresent":
			h[op] = true
		case "regex":
			h[op] = one(d, expressions...)
		default:
			h[op] = one(d, headerValues...)
			if d.chance(3) {
				h["ignoreCase"] = true
			}
		}
		if d.chance(3) {
			h["treatMissingAsEmpty"] = true
		}
		out = append(out, m{"header": h})
	}
	if d.chance(2) {
		out = append(out, m{"header": one(d, m{"name": ":method", "exact": "POST"}, m{"name": ":method", "regex": "GET|PUT"}, m{"name": ":authority", "regex": `h\.example(:\d+)?`})})
	}
	if d.chance(2) {
		q := m{"name": one(d, "q", "r")}
		if op := one(d, "exact", "prefix", "suffix", "contains", "regex", "present"); op == "present" {
			q[op] = true
		} else {
			q[op] = one(d, "1", "2", "x%20y")
			if op != "regex" && d.chance(3) {
				q["ignoreCase"] = true
			}
		}
		out = append(out, m{"queryParameter": q})
	}
	return out
}

func (d draw) proxyRoute() m {
	out := m{}
	if c := d.proxyConditions(false); c != nil {
		out["conditions"] = c
	}
	switch d.IntN(8) {
	case 0:
		r := m{}
		if d.chance(5) {
			r["hostname"] = "example.org"
		}
		if d.chance(5) {
			r["scheme"] = one(d, "http", "https")
		}
		if d.chance(7) {
			r[one(d, "path", "prefix")] = one(d, "/", "/new", "/new/")
		}
		if d.chance(5) {
			r["statusCode"] = one(d, 301, 303, 307, 308)
		}
		out["requestRedirectPolicy"] = r
	case 1:
		out["directResponsePolicy"] = m{"statusCode": one(d, 200, 404, 418, 503), "body": one(d, "", "text")}
	default:
		d.forwardTo(out)
	}
	return out
}

// forwardTo makes a route one to services, with what it says of them.
func (d draw) forwardTo(out m) {
	weights := one(d, [2]int{1, 0}, [2]int{0, 0}, [2]int{9, 1}, [2]int{0, 3})
	services := []any{m{"name": one(d, "v1", "v1", "gone"), "port": 8080, "weight": weights[0]}}
	if d.chance(4) {
		second := m{"name": "v2", "port": 8080, "weight": weights[1]}
		if d.chance(4) {
			second["requestHeadersPolicy"] = m{"set": []any{one(d, m{"name": "x-b", "value": "service"}, m{"name": "Host", "value": "service.example"}, m{"name": "x-c", "value": "%REQ(x-b)%"})},
				"remove": one(d, []any{}, []any{"x-a"})}
		}
		services = append(services, second)
	}
	if d.chance(1) {
		services = append(services, m{"name": "web", "port": 8080, "mirror": true, "weight": one(d, 0, 100)})
	}
	if d.chance(2) {
		services[0].(m)["protocol"] = "h2c"
	}
	out["services"] = services
	out["enableWebsockets"] = d.chance(5)
	if prefix, plain := plainPrefix(out); plain && d.chance(4) {
		out["pathRewritePolicy"] = m{"replacePrefix": []any{m{"replacement": one(d, "/", "/new", "/new/", prefix)}}}
	}
	if d.chance(3) {
		set := []any{m{"name": "X-C", "value": one(d, "1", "50%", "%CONTOUR_NAMESPACE%", d.filled())}}
		if d.chance(5) {
			set = append(set, m{"name": "Host", "value": one(d, "up.example", "%REQ(X-A)%", "%REQ(x-c)%")})
		}
		out["requestHeadersPolicy"] = m{"set": set, "remove": one(d, []any{"x-b"}, []any{"x-a"}, []any{"x-c"})}
	}
	if d.chance(3) {
		out["responseHeadersPolicy"] = m{"set": []any{m{"name": "x-back", "value": one(d, "1", "1", d.filled())}}}
	}
	if d.chance(3) {
		out["retryPolicy"] = m{"count": one(d, -1, 0, 2), "retryOn": one(d, []any{"5xx"}, []any{"gateway-error", "reset"}, []any{"retriable-status-codes"}), "retriableStatusCodes": []any{409, 503}}
	}
	if d.chance(2) {
		out["timeoutPolicy"] = m{"response": one(d, "infinity", "20s", "0s"), "idleConnection": one(d, "", "1m", "infinity")}
	}
}

// filled is the value of a header that a proxy fills in.
func (d draw) filled() string {
	return one(d, "%REQ(X-A)%", "%REQ(x-b)%-%PROTOCOL%%REQ(host)%", "%REQ(x-c)%", "%REQ(host)%, %REQ(x-a)%%%PROTOCOL%", "%HOSTNAME%")
}

// plainPrefix is the prefix of a route that has one, and no other condition on the path.
func plainPrefix(r m) (prefix string, plain bool) {
	list, _ := r["conditions"].([]any)
	if len(list) == 0 {
		return "/", true
	}
	first, _ := list[0].(m)
	prefix, ok := first["prefix"].(string)
	return prefix, ok && !strings.Contains(prefix, "*")
}

// proxyPair is a request to the host.
func (d draw) proxyPair(w *World) Pair {
	p := d.toHost(w, proxyHost, "H.Example")
	if d.chance(2) {
		d.fromOrigin(&p.Request)
	}
	return p
}
