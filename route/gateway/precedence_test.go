package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/worlds"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// named is a route of a world whose hostnames meet those of listeners: each of its rules
// answers with a redirect to a name of its own.
type named struct {
	name, section string
	hostnames     []string
	age           int
	paths         []string
}

// written is a place of a request in the order as the Gateway API writes it.
type written struct {
	exact, any, path, age int // characters of the hostnames and of the path; the day
	name                  string
}

// precedence is the order of the page: most characters in a matching hostname that is none
// for all below one, most characters in a matching hostname, the longest prefix, the oldest
// route, the first by name.
func precedence(a, b written) int {
	return cmp.Or(cmp.Compare(b.exact, a.exact), cmp.Compare(b.any, a.any), cmp.Compare(b.path, a.path), cmp.Compare(a.age, b.age), cmp.Compare(a.name, b.name))
}

// covers is whether a hostname of the page, empty for all, stands for a host.
func covers(hostname, host string) bool {
	below, wild := strings.CutPrefix(hostname, "*")
	return hostname == "" || hostname == host || wild && strings.HasSuffix(host, below)
}

// overlap is whether some host is of both.
func overlap(a, b string) bool { return covers(a, b) || covers(b, a) }

// firstOf is who answers a request to a host by the order of the page: of the routes of the
// listener with the nearest hostname.
func firstOf(listeners []string, routes []named, host, path string) string {
	at := -1
	for i, l := range listeners {
		if covers(l, host) && (at < 0 || len(l) > len(listeners[at]) || l == host) {
			at = i
		}
	}
	if at < 0 {
		return "nobody"
	}
	var places []written
	for _, r := range routes {
		if r.section != "" && r.section != fmt.Sprint("l", at) {
			continue
		}
		w := written{age: r.age, name: r.name, exact: -1, any: -1, path: -1}
		if len(r.hostnames) == 0 {
			w.exact, w.any = 0, 0
		}
		for _, h := range r.hostnames {
			if h == "" || !covers(h, host) || !overlap(h, listeners[at]) {
				continue
			}
			w.any = max(w.any, len(h))
			if w.exact = max(w.exact, 0); h == host {
				w.exact = len(h)
			}
		}
		for _, p := range r.paths {
			if p == "/" || path == p || strings.HasPrefix(path, p+"/") {
				w.path = max(w.path, len(p))
			}
		}
		if w.any >= 0 && w.path >= 0 {
			places = append(places, w)
		}
	}
	if len(places) == 0 {
		return "nobody"
	}
	return slices.MinFunc(places, precedence).name
}

// hostsThatMeet are hostnames that cover each other in several steps.
var hostsThatMeet = []string{"a.example.org", "x.a.example.org", "*.a.example.org", "*.example.org", "*.org", "b.example.org"}

// TestPrecedenceByTheHostnameOfTheRoute: whatever the hostname of the listener, requests go
// to the route that names their host the most exactly, as the Gateway API orders them.
func TestPrecedenceByTheHostnameOfTheRoute(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		listeners := rapid.SliceOfNDistinct(rapid.SampledFrom(append([]string{""}, hostsThatMeet...)), 1, 3, rapid.ID[string]).Draw(t, "listeners")
		var list []m
		for i, host := range listeners {
			l := m{"name": fmt.Sprint("l", i), "port": 80, "protocol": "HTTP"}
			if host != "" {
				l["hostname"] = host
			}
			list = append(list, l)
		}
		docs := []m{kube("gateway.networking.k8s.io/v1", "Gateway", "shop", "gw", m{"gatewayClassName": "weft", "listeners": list}),
			{"type": "Dataplane", "mesh": "default", "name": "edge", "labels": m{"k8s.kuma.io/namespace": "shop", "gateway.networking.k8s.io/gateway-name": "gw"},
				"networking": m{"address": "10.9.0.1", "gateway": m{"type": "BUILTIN"}}}}
		var routes []named
		for i := range rapid.IntRange(1, 4).Draw(t, "routes") {
			r := named{name: fmt.Sprintf("r%d", i), age: rapid.IntRange(1, 3).Draw(t, "age"),
				hostnames: rapid.SliceOfNDistinct(rapid.SampledFrom(hostsThatMeet), 0, 3, rapid.ID[string]).Draw(t, "hostnames"),
				paths:     rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"/", "/p", "/p/q"}), 1, 2, rapid.ID[string]).Draw(t, "paths")}
			if rapid.IntRange(0, 3).Draw(t, "at one") == 0 {
				r.section = fmt.Sprint("l", rapid.IntRange(0, len(listeners)-1).Draw(t, "section"))
			}
			routes, docs = append(routes, r), append(docs, r.document())
		}
		var objects []*api.Object
		for _, d := range docs {
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			objects = append(objects, worlds.Decode(t, world.Catalog(), string(text)))
		}
		model, _ := world.Compile(world.Snapshot(objects...))
		for _, host := range []string{"a.example.org", "x.a.example.org", "b.example.org", "y.x.a.example.org", "z.org", "none.test"} {
			for _, path := range []string{"/", "/p/x", "/p/q/r"} {
				want := firstOf(listeners, routes, host, path)
				if got := answers(t, model, host, path); got != want {
					t.Fatalf("http://%s%s: %s, want %s\nlisteners %q\nroutes %+v", host, path, got, want, listeners, routes)
				}
			}
		}
	})
}

// document is an HTTPRoute whose rules redirect to its name.
func (r *named) document() m {
	parent := m{"name": "gw"}
	if r.section != "" {
		parent["sectionName"] = r.section
	}
	var rules []m
	for _, p := range r.paths {
		rules = append(rules, m{"matches": []m{{"path": m{"value": p}}}, "filters": []m{{"type": "RequestRedirect", "requestRedirect": m{"hostname": r.name + ".test"}}}})
	}
	spec := m{"parentRefs": []m{parent}, "rules": rules}
	if len(r.hostnames) > 0 {
		spec["hostnames"] = r.hostnames
	}
	doc := kube("gateway.networking.k8s.io/v1", "HTTPRoute", "shop", r.name, spec)
	doc["metadata"].(m)["creationTimestamp"] = fmt.Sprintf("2026-01-0%dT00:00:00Z", r.age)
	return doc
}

// answers is the route that answers a request to a host at the edge; nobody where none does.
func answers(t *rapid.T, m *resolve.Model, host, path string) string {
	v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"}, wire.Request{URL: "http://" + host + path})
	if err != nil {
		t.Fatal(err)
	}
	if v.Branches[0].Outcome != sim.Redirect {
		return "nobody"
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(v.Branches[0].Location, "http://"), ".")
	return name
}

// TestEveryKindOfRouteByItsHostname: of calls and of whole connections too the route has them
// that names the host itself, though an older one stands for all hosts below a name.
func TestEveryKindOfRouteByItsHostname(t *testing.T) {
	t.Parallel()
	const gw = `
{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: gw}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: gw, namespace: shop}, spec: {gatewayClassName: weft, listeners: [
  {name: http, port: 80, protocol: HTTP, hostname: a.example.org}, {name: tls, port: 443, protocol: TLS, hostname: a.example.org, tls: {mode: Passthrough}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: %[1]s, metadata: {name: a-none, namespace: shop, creationTimestamp: "2024-01-01T00:00:00Z"}, spec: {parentRefs: [{name: gw, sectionName: %[2]s}], hostnames: %[3]s, rules: [{backendRefs: [{name: none, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: %[1]s, metadata: {name: b-wild, namespace: shop, creationTimestamp: "2024-01-02T00:00:00Z"}, spec: {parentRefs: [{name: gw, sectionName: %[2]s}], hostnames: ["*.example.org"], rules: [{backendRefs: [{name: wild, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: %[1]s, metadata: {name: c-exact, namespace: shop, creationTimestamp: "2024-01-03T00:00:00Z"}, spec: {parentRefs: [{name: gw, sectionName: %[2]s}], hostnames: ["*.example.org", a.example.org], rules: [{backendRefs: [{name: exact, port: 80}]}]}}
`
	for _, c := range []struct {
		kind, section, none string
		ask                 wire.Request
	}{
		{"HTTPRoute", "http", "[]", wire.Request{URL: "http://a.example.org/x"}}, {"GRPCRoute", "http", "[]", wire.Request{Method: "POST", URL: "http://a.example.org/a.B/Do"}},
		{"TLSRoute", "tls", `["*.org"]`, wire.Request{URL: "tcp://a.example.org:443", SNI: "a.example.org"}},
	} {
		text := fmt.Sprintf(gw, c.kind, c.section, c.none)
		for _, name := range []string{"none", "wild", "exact"} {
			text += service(name, "http", 8080)
		}
		objects, found := world.Decode("gateway.yaml", []byte(text))
		if len(found) > 0 {
			t.Fatal(found)
		}
		m, _ := world.Compile(world.Snapshot(objects...))
		v, err := sim.Run(m, api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"}, c.ask)
		if err != nil {
			t.Fatal(err)
		}
		if b := v.Branches[0].Backends; len(b) != 1 || b[0].Name != "exact" {
			t.Errorf("%s: %+v, want exact; notes %v", c.kind, v, v.Notes)
		}
	}
}
