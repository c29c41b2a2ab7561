package tables

import (
	"strings"

	"github.com/weftmesh/weft/sim/wire"
)

// Request draws one that is sound; odd ones too.
func (d Dice) Request() wire.Request {
	path := pick(d, paths...)
	for n := d.IntN(3); n > 0; n-- {
		path += pick(d, "", "", "/", "/b", "/c", "/..", "/../b", "//b", "/./b", "%61", "%2e", "%2E%2E", "\\b", "%2f", ";x", "/..;x", "\\..;x", "|^", "%00")
	}
	if strings.HasPrefix(path, "//") {
		path = path[1:] // the test's client would take it for a host
	}
	var query []string
	for n := d.IntN(3); n > 0; n-- {
		query = append(query, pick(d, "q1=1", "q1=2", "q2=1", "q2=", "q2", "q1=x%20y", "q1=x+y", "q2=a=b", "q%31=1", "=", "?q1=1"))
	}
	if len(query) > 0 {
		path += "?" + strings.Join(query, pick(d, "&", "&", ";"))
	}
	h := wire.Headers{}
	for _, name := range []string{"h1", "h2"} {
		for n := d.IntN(3); n > 0; n-- {
			h.Add(name, pick(d, values...))
		}
	}
	for _, x := range [][2]string{{"user-agent", "1"}, {"user-agent", "2"}, {"content-type", "application/grpc"}, {"x-forwarded-proto", "https"},
		{"te", "trailers"}, {"keep-alive", "5"}, {"x-envoy-retry-on", "5xx"}, {"cookie", "a=1"}, {"x-envoy-internal", "true"}, {"x-forwarded-for", "127.0.0.1"}, {"x-envoy-upstream-rq-timeout-ms", "1"}, {"x-other", "z"},
		{"x-request-id", "abc"}, {"host", "example.org"}, {"host", "web:80"}} {
		if d.chance(6) {
			h.Add(x[0], x[1])
		}
	}
	if d.chance(8) {
		h["connection"], h["upgrade"] = "Upgrade", pick(d, "websocket", "websocket", "WebSocket", "h2c", "other")
	}
	if strings.Contains(h["host"], "\n") {
		h["host"] = "example.org"
	}
	method := pick(d, "GET", "GET", "GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS", "TRACE", "PURGE", "FOO")
	return wire.Request{Method: method, URL: "http://" + pick(d, "web:8080", "127.0.0.1:10001", "web.mesh:8080") + path, Headers: h}
}
