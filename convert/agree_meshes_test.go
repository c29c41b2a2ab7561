package convert_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/differential"
)

// prepared are the documents of a language, with a client that calls the service web and
// all hosts, a Gateway for what is translated, and limits beside what is drawn.
func prepared(from string, n uint64) []m {
	random := rand.New(rand.NewPCG(*seed, n))
	docs := []m{
		{"type": "Dataplane", "mesh": "default", "name": "client", "networking": m{"address": "127.0.0.1", "outbound": []any{
			m{"port": 10001, "backendRef": m{"kind": "MeshService", "name": "web", "port": 8080}}, m{"port": 10002, "hosts": m{"port": 80}},
		}, "inbound": []any{m{"port": 19000, "tags": m{"kuma.io/service": "client", "kuma.io/protocol": "http"}}}}},
		{"type": "Gateway", "mesh": "default", "name": "gateway", "spec": m{"gatewayClassName": "weft", "listeners": []any{m{"name": "any", "port": 80, "protocol": "HTTP"}}}},
	}
	for _, doc := range differential.Languages(*seed, n)[from] {
		spec, _ := doc["spec"].(m)
		routes, _ := spec["routes"].([]any)
		for _, r := range routes {
			limited(r.(m), doc["type"], random)
		}
		if doc["name"] != "client" && !(from == "gateway" && doc["type"] == "MeshHTTPRoute") && !aboutRoutes(doc) {
			docs = append(docs, doc)
		}
	}
	return docs
}

// limited gives one route of three a limit of its own.
func limited(r m, kind any, random *rand.Rand) {
	switch {
	case random.IntN(3) > 0:
	case kind == "HTTPProxy" && r["services"] != nil:
		r["rateLimitPolicy"] = m{"local": m{"requests": 10000, "unit": "second", "burst": random.IntN(2)}}
	case kind == "RouteGroup":
		filters, _ := r["filters"].([]any)
		r["filters"] = append(slices.Clone(filters), `ratelimit(10000, "1s")`)
	}
}

// aboutRoutes reports whether a document is a policy that targets a route or a service.
func aboutRoutes(doc m) bool {
	if typ, ok := world.Catalog().Find(fmt.Sprint(doc["type"])); !ok || !typ.Policy || typ.Route {
		return false
	}
	text := fmt.Sprint(doc["spec"])
	return slices.ContainsFunc([]string{"MeshHTTPRoute", "HTTPRoute", "GRPCRoute", "HTTPProxy", "RouteGroup", "MeshService"}, func(s string) bool { return strings.Contains(text, "kind:"+s) })
}

// hostsOf are the authorities that requests of a language are for.
var hostsOf = map[string][]string{
	"kuma": {"web:8080"}, "gateway": {"web:8080"}, "contour": {"h.example", "h.example", "g.example"}, "skipper": {"g.example", "g.example", "x.example", "other.example", "third.example"},
	"listeners": {"a.example.org", "b.example.org", "x.a.example.org", "c.example.org", "d.org", "other.test"},
}

// authorityIn is the authority after a translation.
func authorityIn(from, to, authority string) string {
	services := func(language string) bool { return language == "kuma" || language == "gateway" }
	switch {
	case to == "kuma":
		return "web:8080"
	case services(from) && !services(to):
		return "h.example"
	}
	return authority
}
