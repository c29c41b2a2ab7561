package differential

import (
	"fmt"
	"net/url"

	"github.com/weftmesh/weft/sim/wire"
)

// byListeners is a theme: routes at the listeners of a Gateway, with hostnames that cover
// each other, and requests to their hosts.
var byListeners = theme{func(d draw) Source { return Source{Documents: d.aimed(d.listenerDocuments())} }, draw.listenerPair, requestsPerWorld}

// listenerHosts are hostnames of listeners and routes.
var listenerHosts = []string{"*.example.org", "*.org", "a.example.org", "b.example.org", "x.a.example.org", "*.a.example.org"}

func (d draw) listenerDocuments() []m {
	docs := append([]m{callerOfHosts(10001)}, d.services()...)
	kind := one(d, "HTTPRoute", "HTTPRoute", "HTTPRoute", "GRPCRoute")
	docs = append(docs, d.atListeners(kind, routeNames[:1+d.IntN(3)]...)...)
	for i := range d.IntN(4) {
		docs = append(docs, replaced(d.policy(fmt.Sprintf("p%d", i)), "MeshHTTPRoute", kind).(m))
	}
	return docs
}

// atListeners are a Gateway, and routes of a kind at its listeners.
func (d draw) atListeners(kind string, routes ...string) []m {
	listeners, names := []any{m{"name": "any", "port": 80, "protocol": "HTTP"}}, []any{"any"} // so that every host is somebody's
	for i, host := range some(d, 6, listenerHosts...) {
		name := fmt.Sprintf("l%d", i)
		listeners, names = append(listeners, m{"name": name, "port": 80, "protocol": "HTTP", "hostname": host}), append(names, name)
	}
	docs := []m{{"type": "Gateway", "mesh": "default", "name": "g", "spec": m{"gatewayClassName": "weft", "listeners": listeners}}}
	for i, name := range routes {
		doc := d.gatewayRoute(one(d, kind, kind, "HTTPRoute"), name)
		spec, parent := doc["spec"].(m), m{"name": "g"}
		if i > 0 { // the first is at every listener, so that there are hosts
			var hosts []any
			for _, host := range some(d, 4, listenerHosts...) {
				hosts = append(hosts, host)
			}
			if hosts != nil {
				spec["hostnames"] = hosts
			}
			if d.chance(3) {
				parent["sectionName"] = one(d, names...)
			}
		}
		spec["parentRefs"] = []any{parent}
		docs = append(docs, doc)
	}
	return docs
}

// listenerPair is a pair whose request is for a host.
func (d draw) listenerPair(w *World) Pair {
	q := d.request()
	at := drawnURL(q)
	if d.chance(3) {
		q = wire.Request{Method: "POST", Version: one(d, "2", ""), Headers: wire.Headers{"content-type": one(d, "application/grpc", "text/plain")}}
		at = &url.URL{Path: one(d, "/v1/x", "/v1/Do", "/a/x", "/b.C/Do", "/")}
	}
	host := one(d, "a.example.org", "b.example.org", "x.a.example.org", "y.a.example.org", "c.example.org", "A.Example.Org", "d.org", "example.org", "other.test", "a.example.org:80")
	q.URL = atHost(host, at.EscapedPath(), at.RawQuery)
	return d.answered(w, Pair{Source: w.Source, Request: q}, 4)
}
