package differential

import (
	"strings"

	"github.com/weftmesh/weft/sim/wire"
)

// hostile are headers that clients send although they should not, or that a proxy
// treats by itself, with values good and bad.
var hostile = []struct {
	name   string
	values []string
}{
	{"connection", []string{"close", "keep-alive", "x-a", "close, x-b", "Upgrade", "te", "x-forwarded-for", "host", "", "x-a, x-a", "cookie", "content-type"}},
	{"keep-alive", []string{"timeout=5"}},
	{"proxy-connection", []string{"keep-alive", "close"}},
	{"expect", []string{"100-continue", "100-Continue", "something"}},
	{"upgrade", []string{"websocket", "h2c", "other", ""}},
	{"te", []string{"trailers", "gzip", "trailers, gzip", "", "TRAILERS"}},
	{"x-forwarded-for", []string{"127.0.0.1", "10.0.0.1, 8.8.8.8", "8.8.8.8", "nonsense", ""}},
	{"x-forwarded-proto", []string{"https", "http", "ftp", "HTTPS", ""}},
	{"x-forwarded-host", []string{"other.example"}},
	{"x-forwarded-port", []string{"99"}},
	{"x-forwarded-client-cert", []string{"By=spiffe://a;URI=spiffe://b"}},
	{"forwarded", []string{"for=8.8.8.8"}},
	{"via", []string{"1.1 other"}},
	{"x-envoy-internal", []string{"true", "false"}},
	{"x-envoy-external-address", []string{"8.8.8.8"}},
	{"x-envoy-retry-on", []string{"5xx,gateway-error"}},
	{"x-envoy-max-retries", []string{"5"}},
	{"x-envoy-upstream-rq-timeout-ms", []string{"1"}},
	{"x-envoy-upstream-rq-per-try-timeout-ms", []string{"1"}},
	{"x-envoy-expected-rq-timeout-ms", []string{"1"}},
	{"x-envoy-hedge-on-per-try-timeout", []string{"true"}},
	{"x-envoy-upstream-alt-stat-name", []string{"a"}},
	{"x-envoy-original-path", []string{"/elsewhere"}},
	{"x-envoy-original-host", []string{"elsewhere"}},
	{"x-envoy-decorator-operation", []string{"op"}},
	{"x-envoy-force-trace", []string{"1"}},
	{"x-envoy-ip-tags", []string{"a"}},
	{"x-envoy-attempt-count", []string{"9"}},
	{"x-request-id", []string{"abc", ""}},
	{"x-kuma-tags", []string{"&kuma.io/service=web&"}},
	{"grpc-timeout", []string{"1m", "5S", "nonsense"}},
	{"cookie", []string{"a=1", "b=2; c=3", ""}},
	{"referer", []string{"http://h/a?b", "/a", "a b", "http://u@h/", "http://h/#f", "http://h:99999/", "about:blank", ""}},
	{"user-agent", []string{"agent", ""}},
	{"accept", []string{"text/plain", "*/*"}},
	{"authorization", []string{"Bearer x"}},
	{"content-type", []string{"text/plain", "application/grpc", "application/grpc+proto", "application/grpc-web", ""}},
	{"content-length", []string{"0", "7", "abc", "-1"}},
	{"transfer-encoding", []string{"chunked", "gzip", "identity"}},
	{"host", []string{"", "other.example", "web", "web:80", "WEB:8080", "web:8080.", "[::1]:80", "user@web", "web:port", "a b"}},
	{"x_under", []string{"1"}},
	{"!#$%&'*+-.^_|~", []string{"1"}},
	{"x-" + strings.Repeat("n", 300), []string{"long name"}},
	{"http2-settings", []string{"AAMAAABkAAQCAAAAAAIAAAAA"}},
	{"age", []string{"5"}},
	{"x-datadog-trace-id", []string{"1"}},
	{"traceparent", []string{"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "nonsense"}},
}

// oddValues are values of ordinary headers.
var oddValues = []string{"\xff", "\x80abc", "\xe9", "%", "%%", "%REQ(x-a)%", "a\tb", "", strings.Repeat("v", 8000), "1, 2", "\"quoted\"", "a;b=c", "{}", "K"}

// oddMethods are those that nobody expects.
var oddMethods = []string{"FOO", "get", "CONNECT", "TRACE", "M-SEARCH", "PURGE", "PROPFIND", "OPTIONS", strings.Repeat("M", 100)}

// oddPaths are paths that a proxy may change or refuse.
var oddPaths = []string{"/%00", "/%ff", "/v1;a=b/x", "/v1/..;x/v2", "/v1/.../x", "/v1/%2e%2e/v2", "/..", "/v1\\x", "/v1/%5Cx", "/v1|^{}", "/v1?", "/v1??a", "/v1?q=%00",
	"/" + strings.Repeat("p", 3000), "/v1?q=1&q=2&&=&r", "/v1/%C3", "/V1", "/v1/x%20y", "//", "/./v1", "/v1/.", "/v1/a%3Fb"}

// spoil makes q a request that few would send.
func (d draw) spoil(p *Pair) {
	q := &p.Request
	for range one(d, 0, 1, 1, 2, 3) {
		h := one(d, hostile...)
		for range one(d, 1, 1, 1, 2) {
			if _, twice := q.Headers["host"]; h.name != "host" || !twice {
				q.Headers.Add(h.name, one(d, h.values...))
			}
		}
	}
	if d.chance(2) {
		q.Headers.Add(one(d, headerNames...), one(d, oddValues...))
	}
	if d.chance(1) {
		q.Method = one(d, oddMethods...)
	}
	if d.chance(2) {
		q.URL = "http://web:8080" + one(d, oddPaths...)
	}
	switch d.IntN(12) {
	case 0:
		q.Version = "1.0"
	case 1, 2, 3:
		q.Version = "2"
	}
	if d.chance(3) && q.Headers["content-length"] == "" && q.Headers["transfer-encoding"] == "" {
		q.Body = one[int64](d, 1, 10, 5000, 60_000)
		if q.Version == "" {
			q.Body = one(d, q.Body, 200_000, 1_500_000)
			p.Chunked = d.chance(3)
		}
	}
	if q.Version == "" && d.chance(2) {
		d.socket(q)
		p.Chunked = false
	}
	if q.Headers["content-length"] == "7" {
		q.Body, p.Chunked = 7, false
	}
	if q.Headers["transfer-encoding"] == "chunked" {
		delete(q.Headers, "transfer-encoding")
		p.Chunked = q.Version == ""
	}
	if q.Method == "CONNECT" {
		q.Body, p.Chunked = 0, false
	}
	if d.chance(1) {
		d.enlarge(q)
	}
}

// enlarge adds many headers, or long ones: mostly about as many as Envoy takes, of which
// sidecars add some.
func (d draw) enlarge(q *wire.Request) {
	lines, bytes := 2, len(q.Method)+len(q.URL)
	for name, v := range q.Headers {
		lines += len(q.Headers.Values(name))
		bytes += len(name) + len(v)
	}
	if d.chance(5) {
		for range max(one(d, 150, 86+d.IntN(18), 86+d.IntN(18))-lines, 0) {
			q.Headers.Add("x-many", "1")
		}
		return
	}
	q.Headers.Add("x-long", strings.Repeat("l", max(one(d, 20_000, 70_000, 60<<10-d.IntN(300), 60<<10-d.IntN(300))-bytes, 0)))
}

// socket asks for a WebSocket, or something like it.
func (d draw) socket(q *wire.Request) {
	q.Method, q.Body = "GET", 0
	for _, name := range []string{"content-type", "content-length", "transfer-encoding"} {
		delete(q.Headers, name)
	}
	q.Headers["connection"] = one(d, "Upgrade", "upgrade", "keep-alive, Upgrade", "close, upgrade", "x-a, Upgrade")
	q.Headers["upgrade"] = one(d, "websocket", "websocket", "WebSocket", "websocket, other", "h2c")
	if d.chance(3) {
		q.Headers["sec-websocket-key"], q.Headers["sec-websocket-version"] = "dGhlIHNhbXBsZSBub25jZQ==", "13"
	}
}
