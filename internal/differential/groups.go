package differential

import (
	"fmt"
	"strings"

	"github.com/weftmesh/weft/sim/wire"
)

// groupHost is a host that drawn RouteGroups serve.
const groupHost = "g.example"

// byGroups draws RouteGroups, and requests for their hosts.
var byGroups = theme{func(d draw) Source { return Source{Documents: d.aimed(d.templates(d.groups()))} }, draw.groupPair, requestsPerWorld}

// groups are a client of hosts, those who answer, groups and policies.
func (d draw) groups() []m {
	docs := append([]m{callerOfHosts(10001)}, d.services()...)
	for _, name := range routeNames[:1+d.IntN(3)] {
		docs = append(docs, d.group(name, groupHost))
	}
	for i := range d.IntN(4) {
		docs = append(docs, replaced(d.policy(fmt.Sprintf("p%d", i)), "MeshHTTPRoute", "RouteGroup").(m))
	}
	return docs
}

// callerOfHosts is the client with an outbound to all hosts.
func callerOfHosts(port int) m {
	return m{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "outbound": []any{
		m{"port": port, "hosts": m{"port": 80}},
	}, "inbound": []any{inbound("client", "1", "http", 19000)}}}
}

// group serves a host, and maybe others; now and then all that others name.
func (d draw) group(name, host string) m {
	spec := m{
		"backends": []any{
			m{"name": "one", "type": "service", "serviceName": "v1", "servicePort": 8080}, m{"name": "two", "type": "service", "serviceName": "v2", "servicePort": 8080},
			m{"name": "gone", "type": "service", "serviceName": "gone", "servicePort": 8080}, m{"name": "shunt", "type": "shunt"},
			m{"name": "out", "type": "network", "address": "http://" + outsideName}, m{"name": "some", "type": "lb", "endpoints": []any{"http://" + outsideName}, "algorithm": one(d, "", "random", "leastRequests")},
		},
		"defaultBackends": d.groupBackends(),
	}
	switch hosts := one(d, []any{host}, []any{host}, []any{host, "x.example"}, []any{"other.example", host}, nil); {
	case hosts != nil || name == routeNames[0]:
		spec["hosts"] = append(hosts, some(d, 1, any("third.example"))...)
		if hosts == nil {
			spec["hosts"] = []any{host}
		}
	}
	var routes []any
	for range d.IntN(5) {
		routes = append(routes, d.groupRoute())
	}
	if routes != nil {
		spec["routes"] = routes
	}
	return m{"type": "RouteGroup", "mesh": "default", "name": name, "spec": spec}
}

func (d draw) groupBackends() []any {
	switch d.IntN(8) {
	case 4:
		return []any{m{"backendName": one(d, "out", "some")}}
	case 5:
		return []any{m{"backendName": "out", "weight": 1}, m{"backendName": "one", "weight": 2}}
	case 0:
		return []any{m{"backendName": "one", "weight": 3}, m{"backendName": "two", "weight": 1}}
	case 1:
		return []any{m{"backendName": "gone", "weight": 1}, m{"backendName": "two", "weight": 1}}
	case 2:
		return []any{m{"backendName": "one", "weight": 0}, m{"backendName": "two", "weight": 1}}
	case 3:
		return []any{m{"backendName": "two"}}
	}
	return []any{m{"backendName": "one"}}
}

func (d draw) groupRoute() m {
	out := m{}
	switch d.IntN(7) {
	case 0:
		out["path"] = one(d, "/", "/a", "/a/b", "/v1/x", "/:any", "/a/*rest")
	case 1:
		out["pathRegexp"] = one(d, "^/a", "x$", "b", "^/v[0-9]+/")
	default:
		out["pathSubtree"] = one(d, "/", "/a", "/a/b", "/v1", "/v1/", "/b", "/a.b")
	}
	if d.chance(2) {
		out["methods"] = one(d, []any{"GET"}, []any{"POST", "PUT"}, []any{"GET", "HEAD"})
	}
	if p := some(d, 1, groupPredicates...); p != nil {
		out["predicates"] = p
	}
	filters := some(d, 2, answerFilters...)
	switch n := d.IntN(10); n {
	case 0:
		out["backends"] = []any{m{"backendName": "shunt"}}
		filters = append(filters, one(d, any(`status(418)`), `status(503)`), `inlineContent("text")`)
	case 1:
		out["backends"] = []any{m{"backendName": "shunt"}}
		filters = append(filters, one(d, any(`redirectTo(302, "/x")`), `redirectTo(308, "https://there.example/y")`, `redirectTo(301)`))
	default:
		filters = append(filters, some(d, 1, forwardFilters...)...)
		if d.chance(3) {
			filters = append(filters, one(d, any(`setPath("/new")`), `modPath("^/a", "/b")`, `modPath("x", "y")`))
		}
		if n < 4 {
			out["backends"] = d.groupBackends()
		}
	}
	if filters != nil {
		out["filters"] = filters
	}
	return out
}

// What a route of a group may ask and do besides, in eskip.
var (
	groupPredicates = []any{
		`Header("X-A", "1")`, `HeaderRegexp("X-B", "^1")`, `Cookie("c", "^A$")`, `QueryParam("q")`, `QueryParam("q", "^1")`, `Methods("get", "PUT")`,
		`Host("example")`, `HostAny("g.example", "h.example")`, `Weight(2)`, `True()`, `PathRegexp("x$")`, `ContentLengthBetween(0, 10)`,
	}
	forwardFilters = []any{
		`setRequestHeader("X-C", "1")`, `dropRequestHeader("x-b")`, `appendRequestHeader("X-C", "2")`, `backendTimeout("20s")`, `setRequestHeader("Host", "up.example")`,
	}
	answerFilters = []any{`setResponseHeader("X-Back", "1")`, `responseCookie("c", "A")`, `corsOrigin()`, `flowId()`}
)

// templates gives the routes of groups filters that put values of a request together, before
// those that change its path.
func (d draw) templates(docs []m) []m {
	for _, doc := range docs {
		if kindOf(doc) != "RouteGroup" {
			continue
		}
		for _, r := range list(doc["spec"].(m)["routes"]) {
			old, _ := r["filters"].([]any)
			filters := some(d, 1, filledAnswers...)
			text := fmt.Sprint(old, r["backends"])
			if !strings.Contains(text, "shunt") {
				filters = append(filters, some(d, 1, filledRequests...)...)
			}
			filters = append(filters, old...)
			own := map[any]any{"/:any": `setPath("/p/${any}")`, "/a/*rest": `setPath("/r/${rest}-${rest}")`}[r["path"]]
			if own != nil && !strings.Contains(text, "shunt") && !strings.Contains(text, "Path(") {
				filters = append(filters, own)
			}
			if filters != nil {
				r["filters"] = filters
			}
		}
	}
	return docs
}

// What a route of a group may fill in.
var (
	filledRequests = []any{
		`setRequestHeader("X-F", "100% ${request.method} ${request.host}${request.path}")`, `setRequestHeader("X-G", "a-${request.header.X-A}")`,
		`copyRequestHeader("X-A", "X-H")`, `setResponseHeader("X-Was", "100% ${request.path}")`, `appendRequestHeader("X-A", "${request.header.X-A}")`,
	}
	filledAnswers = []any{
		`setResponseHeader("X-How", "${request.method}")`, `corsOrigin("https://a.example", "https://b.example")`, `appendResponseHeader("X-Back", "${request.header.X-A}")`,
	}
)

// groupPair is a request to a host of groups.
func (d draw) groupPair(w *World) Pair {
	p := d.toHost(w, groupHost, "G.Example", "x.example", "other.example")
	if d.chance(1) && p.Request.Headers["origin"] == "" {
		p.Request.Headers.Add("origin", one(d, "https://a.example", "https://b.example", "https://c.example"))
	}
	return p
}

// toHost is a request to one of some hosts that the client calls, most often the first.
func (d draw) toHost(w *World, host string, others ...string) Pair {
	q := d.request()
	at := drawnURL(q)
	path := at.EscapedPath()
	if d.chance(7) {
		path = one(d, "/", "/a", "/a/", "/a/b", "/ab", "/abb", "/a.b", "/axb", "/v1/x", "/a/q/x", "/a/x", "/a//x", "/b/b", "/a/a", "/a/ab", "/a/b/c/x", "/b", "/v1/a/b")
	}
	if other := one(d, append(others, host+":80")...); d.chance(4) && w.calls(other) {
		host = other
	}
	q.URL = atHost(host, path, at.RawQuery)
	if d.chance(2) {
		q.Headers.Add("cookie", one(d, "c=A", "c=AB", "d=1; c=A", "c=B; c=A"))
	}
	p := d.answered(w, Pair{Source: w.Source, Request: q}, 4)
	if d.chance(1) {
		p.Request.Headers = wire.Headers{"connection": "Upgrade", "upgrade": "websocket"}
		p.Request.Method = "GET"
	}
	return p
}
