package sim_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
)

// dice draws worlds and requests from small alphabets, so that most requests
// match something and many nearly do.
type dice struct{ *rand.Rand }

func (d dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d dice, list ...T) T { return list[d.IntN(len(list))] }

// table draws routes in no special order: to match the first one is Envoy's and
// the simulator's business, to sort them is not.
func (d dice) table() []*resolve.Route {
	routes := make([]*resolve.Route, 1+d.IntN(8))
	for i := range routes {
		routes[i] = d.route(fmt.Sprintf("route-%d", i))
	}
	return append(routes, &resolve.Route{Name: "rest", Key: "rest", Match: route.CatchAll, Backends: []resolve.Backend{to("v3", 1)}})
}

func (d dice) route(name string) *resolve.Route {
	r := &resolve.Route{Name: name, Key: name, Match: d.match()}
	r.Matches = []route.Match{r.Match}
	r.Origins = []*api.Origin{{Ref: api.Ref{Kind: "MeshHTTPRoute", Name: name}}}
	for n := d.IntN(4); n > 0; n-- {
		if d.chance(25) {
			r.Answer = d.answer()
			continue
		}
		f := d.filter()
		r.Filters = append(r.Filters, f)
		if f.Mirror != nil {
			r.Mirrors = append(r.Mirrors, resolve.Mirror{Backend: to("v3", 1), Percent: f.Mirror.Percent})
		}
	}
	r.NoBackend.Status = pick[uint32](d, 0, 404, 503)
	broken := pick[uint32](d, 0, 500, 503)
	for n := 1 + d.IntN(3); n > 0; n-- {
		b := to(pick(d, "v1", "v2", "v3"), pick[uint32](d, 0, 1, 1, 3))
		if d.chance(8) {
			b = lost(1)
			b.Broken.Status = broken
		}
		r.Backends = append(r.Backends, b)
	}
	for i := range r.Backends { // the answer tells by its name which backend it was
		b := &r.Backends[i]
		alone := !slices.ContainsFunc(r.Backends[i+1:], func(o resolve.Backend) bool { return o.Name == b.Name }) &&
			!slices.ContainsFunc(r.Backends[:i], func(o resolve.Backend) bool { return o.Name == b.Name })
		for alone && d.chance(20) {
			b.Filters = append(b.Filters, d.backendFilter())
		}
	}
	r.Policies = d.policies()
	r.Upgrade = pick(d, route.UpgradeUnset, route.UpgradeOn, route.UpgradeOff)
	return r
}

var (
	paths   = []string{"/", "/a", "/b", "/a/b", "/ab", "/a/b/c", "/A", "/a.b", "/a%2Fb", "/caf%C3%A9"}
	regexes = []string{"/a.*", "/[ab]+", "/a/(b|c)", ".*", "/a", "/.*b", "(?i)/A", "/a|/b", "/a/b/?", `/a\.b`, "/[^/]+/b"}
	values  = []string{"1", "2", "12", "1,2", "", "a b", "é"}
)

func (d dice) match() route.Match {
	var m route.Match
	ask := func(c route.Condition) { m.Conditions = append(m.Conditions, c) }
	switch d.IntN(10) {
	case 0, 1, 2:
		ask(exact(pick(d, paths...)))
	case 3, 4, 5:
		ask(prefix(pick(d, paths...)))
	case 6, 7, 8:
		ask(regex(pick(d, regexes...)))
	}
	if d.chance(25) {
		ask(matches.Method(pick(d, "GET", "POST", "HEAD", "DELETE", "CONNECT")))
	}
	for _, name := range []string{"h1", "h2", "user-agent", "host", "x-request-id", "x-forwarded-proto"} {
		odds := 2
		if name == "h1" || name == "h2" {
			odds = 22
		}
		if d.chance(odds) {
			ask(d.onHeader(name))
		}
	}
	for _, name := range []string{"q1", "q2"} {
		switch {
		case d.chance(88):
		case d.chance(40):
			ask(matches.On(route.OnQuery, route.FullMatch, name, pick(d, "1|2", ".*", "[0-9]+", "x.*")))
		default:
			ask(matches.On(route.OnQuery, route.Equal, name, pick(d, "1", "2", "", "x%20y", "a=b")))
		}
	}
	return m
}

func (d dice) onHeader(name string) route.Condition {
	on := func(op route.Op, values ...string) route.Condition {
		return matches.On(route.OnHeader, op, name, pick(d, values...))
	}
	n := d.IntN(6)
	if name == "x-request-id" { // Envoy makes it up
		n = d.IntN(2)
	}
	switch n {
	case 0:
		return on(route.Present, "")
	case 1:
		return matches.Absent(name)
	case 2:
		return on(route.FullMatch, "1.*", "[12]+", "1|2", ".*", "http", ".+")
	case 3:
		return on(route.BytePrefix, "1", "", "2", "web")
	}
	return on(route.Equal, "1", "2", "12", "1,2", "web:8080", "http", "", "é")
}

func (d dice) filter() route.Filter {
	switch d.IntN(5) {
	case 0:
		return route.Filter{RequestHeaders: d.modifier("h1", "h2", "x-new", "user-agent")}
	case 1:
		return route.Filter{ResponseHeaders: d.modifier("x-answer", "x-other")}
	case 2:
		return route.Filter{Mirror: &route.Mirror{Percent: pick(d, 0.0, 100)}}
	}
	w := &route.Rewrite{Path: d.rewrite()}
	if d.chance(50) {
		w.Hostname = "inner.example.org"
	}
	return route.Filter{Rewrite: w}
}

func (d dice) backendFilter() route.Filter {
	switch d.IntN(3) {
	case 0:
		return route.Filter{RequestHeaders: d.modifier("h1", "h2", "x-new", "user-agent")}
	case 1:
		return route.Filter{ResponseHeaders: d.modifier("x-answer", "x-other")}
	}
	return route.Filter{Rewrite: &route.Rewrite{Hostname: "backend.example.org"}}
}

func (d dice) answer() route.Answer {
	if d.chance(60) {
		return d.redirect()
	}
	a := &route.Respond{Status: pick[uint32](d, 200, 204, 401, 404, 418, 502, 503), Body: pick(d, "", "", "text", "é%")}
	if d.chance(50) {
		a.Headers = []route.Header{{Name: pick(d, "x-answer", "content-type"), Value: pick(d, "1", "text/x")}}
	}
	return a
}

func (d dice) redirect() *route.Redirect {
	return &route.Redirect{Scheme: pick(d, "", "", "http", "https"), Hostname: pick(d, "", "example.org"),
		Port: pick[uint32](d, 0, 0, 80, 443, 8443), Status: pick[uint32](d, 0, 301, 302, 303, 307, 308), Path: d.rewrite()}
}

func (d dice) rewrite() *route.PathRewrite {
	switch d.IntN(3) {
	case 0:
		return &route.PathRewrite{Full: ptr(pick(d, "/", "/full", `/b\1`, "/x?y=1", "", "/p%20q"))}
	case 1:
		return &route.PathRewrite{Prefix: ptr(pick(d, "/", "/to", "/to/", "", "/x/y"))}
	}
	return nil
}

// modifier names each header once, as admission demands.
func (d dice) modifier(names ...string) *route.HeaderModifier {
	m := &route.HeaderModifier{}
	for _, n := range names {
		h := route.Header{Name: n, Value: pick(d, "1", "100%", "%REQ(x)%", "a,b", "")}
		switch d.IntN(4) {
		case 0:
			m.Set = append(m.Set, h)
		case 1:
			m.Add = append(m.Add, h)
		case 2:
			m.Remove = append(m.Remove, n)
		}
	}
	return m
}

// policies are mild: they are there to be rendered beside all else. What they
// do in time is asked elsewhere.
func (d dice) policies() resolve.Policies {
	var out resolve.Policies
	add := func(k *policies.Kind, c policies.Conf) {
		if leaves := k.Schema.Read(c); len(leaves) > 0 {
			out = append(out, k.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name, Name: "p"}}, Leaves: leaves}}))
		}
	}
	if d.chance(60) {
		add(ratelimit.Kind, d.rateLimit())
	}
	if d.chance(60) {
		add(retry.Kind, &retry.Conf{HTTP: d.retries()})
	}
	if d.chance(60) {
		h := &timeout.HTTP{}
		maybe(d, &h.RequestTimeout, api.Duration(time.Minute), 0)
		maybe(d, &h.StreamIdleTimeout, api.Duration(time.Hour), 0)
		add(timeout.Kind, &timeout.Conf{HTTP: h})
	}
	return out
}

// maybe sets a field in half of all cases.
func maybe[T any](d dice, field **T, list ...T) {
	if d.chance(50) {
		*field = ptr(pick(d, list...))
	}
}

func (d dice) rateLimit() *ratelimit.Conf {
	h := &ratelimit.HTTP{}
	maybe(d, &h.Disabled, true, false)
	maybe(d, &h.RequestRate, ratelimit.Rate{Num: ptr[uint32](100_000), Interval: ptr(api.Duration(time.Second))})
	on := &ratelimit.OnRateLimit{Headers: &ratelimit.Headers{}}
	maybe(d, &on.Status, 429, 503)
	if d.chance(50) {
		on.Headers.Set = []route.Header{{Name: "x-limit", Value: "100%"}}
	}
	if d.chance(50) {
		on.Headers.Add = []route.Header{{Name: "x-limit", Value: "1"}}
	}
	h.OnRateLimit = on
	return &ratelimit.Conf{Local: &ratelimit.Local{HTTP: h}}
}

func (d dice) retries() *retry.HTTP {
	h := &retry.HTTP{BackOff: &retry.BackOff{}, RateLimitedBackOff: &retry.RateLimitedBackOff{}}
	maybe[uint32](d, &h.NumRetries, 0, 1, 3)
	maybe(d, &h.PerTryTimeout, api.Duration(10*time.Second), 0)
	maybe(d, &h.BackOff.BaseInterval, api.Duration(time.Millisecond))
	maybe(d, &h.BackOff.MaxInterval, api.Duration(5*time.Millisecond))
	maybe(d, &h.RateLimitedBackOff.MaxInterval, api.Duration(time.Second))
	maybe[int64](d, &h.HostSelectionMaxAttempts, 3)
	if d.chance(50) {
		h.RateLimitedBackOff.ResetHeaders = []retry.ResetHeader{{Name: "retry-after", Format: "Seconds"}}
	}
	if d.chance(50) {
		h.RetryOn = pick(d, []string{"5xx"}, []string{"GatewayError", "503"}, []string{"HttpMethodGet", "Reset"}, []string{"409"})
	}
	if d.chance(50) {
		h.RetriableRequestHeaders = []policies.HeaderMatch{{Type: pick(d, "Exact", "Prefix", "RegularExpression"), Name: "h1", Value: "1"}}
	}
	if d.chance(50) {
		h.RetriableResponseHeaders = []policies.HeaderMatch{{Type: "Exact", Name: "x-again", Value: "1"}}
	}
	if d.chance(50) {
		h.HostSelection = []retry.HostSelection{{Predicate: "OmitPreviousHosts"}}
	}
	return h
}

// request draws one that is sound; odd ones too.
func (d dice) request() sim.Request {
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
	h := sim.Headers{}
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
	return sim.Request{Method: method, URL: "http://" + pick(d, "web:8080", "127.0.0.1:10001", "web.mesh:8080") + path, Headers: h}
}
