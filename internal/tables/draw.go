package tables

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// Dice draws tables and requests from small alphabets, so that most requests
// match something and many nearly do.
type Dice struct{ *rand.Rand }

func (d Dice) chance(percent int) bool { return d.IntN(100) < percent }

func pick[T any](d Dice, list ...T) T { return list[d.IntN(len(list))] }

// Table draws routes in no special order: to match the first one is Envoy's and
// the simulator's business, to sort them is not.
func (d Dice) Table() []*Route {
	routes := make([]*Route, 1+d.IntN(8))
	for i := range routes {
		routes[i] = d.route(fmt.Sprintf("route-%d", i))
	}
	return append(routes, &Route{Name: "rest", Match: match.CatchAll, Backends: []Backend{{Name: "web", Weight: 1}}})
}

func (d Dice) route(name string) *Route {
	r := &Route{Name: name, Match: d.match()}
	for n := d.IntN(4); n > 0; n-- {
		if d.chance(25) {
			r.Redirect, r.Respond = nil, nil
			if d.chance(60) {
				r.Redirect = d.redirect()
			} else {
				r.Respond = d.respond()
			}
			continue
		}
		f := d.filter()
		r.Filters = append(r.Filters, f)
		if f.Mirror != nil {
			r.Mirrors = append(r.Mirrors, Mirror{Name: "web", Percent: f.Mirror.Percent})
		}
	}
	r.NoBackend = pick[uint32](d, 0, 404, 503)
	broken := pick[uint32](d, 0, 500, 503)
	for n := 1 + d.IntN(3); n > 0; n-- {
		b := Backend{Name: pick(d, "v1", "v1", "v2", "v2", "web", "web", "outside"), Weight: pick[uint32](d, 0, 1, 1, 3)}
		if d.chance(8) {
			b = Backend{Name: "nosuch", Weight: 1, Broken: &effective.Broken{Why: "there is no MeshService nosuch", Status: broken}}
		}
		r.Backends = append(r.Backends, b)
	}
	for i := range r.Backends { // who answers tells which backend it was
		same := func(o Backend) bool { return o.Name == r.Backends[i].Name }
		alone := !slices.ContainsFunc(r.Backends[i+1:], same) && !slices.ContainsFunc(r.Backends[:i], same)
		for alone && d.chance(20) {
			r.Backends[i].Filters = append(r.Backends[i].Filters, d.backendFilter())
		}
	}
	r.Upgrade = pick(d, route.UpgradeUnset, route.UpgradeOn, route.UpgradeOff)
	return r
}

var (
	paths   = []string{"/", "/a", "/b", "/a/b", "/ab", "/a/b/c", "/A", "/a.b", "/a%2Fb", "/caf%C3%A9"}
	regexes = []string{"/a.*", "/[ab]+", "/a/(b|c)", ".*", "/a", "/.*b", "(?i)/A", "/a|/b", "/a/b/?", `/a\.b`, "/[^/]+/b"}
	values  = []string{"1", "2", "12", "1,2", "", "a b", "é"}
)

func (d Dice) match() match.Match {
	var m match.Match
	ask := func(c match.Condition) { m.Conditions = append(m.Conditions, c) }
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
			ask(matches.On(match.OnQuery, match.FullMatch, name, pick(d, "1|2", ".*", "[0-9]+", "x.*")))
		default:
			ask(matches.On(match.OnQuery, match.Equal, name, pick(d, "1", "2", "", "x%20y", "a=b")))
		}
	}
	return m
}

func (d Dice) onHeader(name string) match.Condition {
	on := func(op match.Op, values ...string) match.Condition {
		return matches.On(match.OnHeader, op, name, pick(d, values...))
	}
	n := d.IntN(6)
	if name == "x-request-id" { // Envoy makes it up
		n = d.IntN(2)
	}
	switch n {
	case 0:
		return on(match.Present, "")
	case 1:
		return matches.Absent(name)
	case 2:
		return on(match.FullMatch, "1.*", "[12]+", "1|2", ".*", "http", ".+")
	case 3:
		return on(match.BytePrefix, "1", "", "2", "web")
	}
	return on(match.Equal, "1", "2", "12", "1,2", "web:8080", "http", "", "é")
}

func (d Dice) filter() route.Filter {
	switch n := d.IntN(5); n {
	case 0, 1:
		return d.headers(n == 0)
	case 2:
		return route.Filter{Mirror: &route.Mirror{Percent: pick(d, 0.0, 100)}}
	}
	w := &route.Rewrite{Path: d.rewrite()}
	switch n := d.IntN(10); {
	case n < 4:
		w.Hostname = "inner.example.org"
	case n < 6:
		w.HostHeader = pick(d, "h1", "x-new")
	}
	return route.Filter{Rewrite: w}
}

func (d Dice) backendFilter() route.Filter {
	if n := d.IntN(3); n < 2 {
		return d.headers(n == 0)
	}
	return route.Filter{Rewrite: &route.Rewrite{Hostname: "backend.example.org"}}
}

// headers changes those of the request, or else of its answer.
func (d Dice) headers(request bool) route.Filter {
	if request {
		return route.Filter{RequestHeaders: d.modifier("h1", "h2", "x-new", "user-agent")}
	}
	return route.Filter{ResponseHeaders: d.modifier("x-answer", "x-other")}
}

func (d Dice) respond() *route.Respond {
	a := &route.Respond{Status: pick[uint32](d, 200, 204, 401, 404, 418, 502, 503), Body: pick(d, "", "", "text", "é%")}
	if d.chance(50) {
		a.Headers = []route.Header{{Name: pick(d, "x-answer", "content-type"), Value: pick(d, "1", "text/x")}}
	}
	return a
}

func (d Dice) redirect() *route.Redirect {
	return &route.Redirect{Scheme: pick(d, "", "", "http", "https"), Hostname: pick(d, "", "example.org"),
		Port: pick[uint32](d, 0, 0, 80, 443, 8443), Status: pick[uint32](d, 0, 301, 302, 303, 307, 308), Path: d.rewrite()}
}

func (d Dice) rewrite() *route.PathRewrite {
	switch d.IntN(3) {
	case 0:
		return &route.PathRewrite{Full: ptr(pick(d, "/", "/full", `/b\1`, "/x?y=1", "", "/p%20q"))}
	case 1:
		return &route.PathRewrite{Prefix: ptr(pick(d, "/", "/to", "/to/", "", "/x/y")), Literal: d.chance(20)}
	}
	return nil
}

// modifier names each header once, as admission demands.
func (d Dice) modifier(names ...string) *route.HeaderModifier {
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
	if d.chance(30) {
		header := route.Part{Header: pick(d, "h1", "h2", "host", "x-new")}
		m.Fill = append(m.Fill, route.Filled{Name: "x-fill", Parts: pick(d, []route.Part{header}, []route.Part{{Text: "100%"}, header, {Fact: route.OfProtocol}})})
	}
	return m
}

func exact(value string) match.Condition { return matches.On(match.OnPath, match.Equal, "", value) }
func prefix(value string) match.Condition {
	return matches.On(match.OnPath, match.SegmentPrefix, "", value)
}
func regex(value string) match.Condition { return matches.On(match.OnPath, match.FullMatch, "", value) }

func ptr[T any](v T) *T { return &v }
