package demo

import (
	"fmt"
	"net/http"

	"github.com/weftmesh/weft/examples"
)

// Languages is a shop that is routed in each language for routes, and the same three
// policies at one rule of each.
var Languages = &World{
	mesh: "languages", documents: examples.Languages, steps: languageSteps(), caller: "web-1",
	workloads: []workload{
		{"web-1", "web", "", inShop("web", "")}, {"orders-1", "orders", "", inShop("orders", "")},
		{"catalog-1", "catalog", "v1", inShop("catalog", "v1")}, {"catalog-2", "catalog", "v2", inShop("catalog", "v2")},
	},
	called: []call{byRef("shop-kuma"), byRef("shop-gateway"), asHost("shop-contour.test"), asHost("shop-skipper.test")},
	next: []string{
		"explain policy mr/flaky-again", "explain dataplane web-1 --to shop-skipper.test", "simulate --from web-1 GET http://shop-skipper.test/slow", "status",
	},
}

func inShop(app, version string) map[string]string {
	labels := map[string]string{"k8s.kuma.io/namespace": "shop", "app": app}
	if version != "" {
		labels["version"] = version
	}
	return labels
}

func byRef(service string) call {
	return call{host: service, by: "backendRef", ref: map[string]any{"kind": "MeshService", "name": service, "port": 80}}
}

func asHost(host string) call { return call{host: host, by: "hosts", ref: map[string]any{"port": 80}} }

// languages are those in which the shop is routed: where it is called, by which route,
// and whether the route has a timeout of its own.
var languages = []struct {
	name, host, route string
	inline            bool
}{
	{"Kuma", "shop-kuma", "MeshHTTPRoute/languages/shop", false},
	{"Gateway API", "shop-gateway", "HTTPRoute/languages/shop/shop", true},
	{"Contour", "shop-contour.test", "HTTPProxy/languages/shop/shop", true},
	{"Skipper", "shop-skipper.test", "RouteGroup/languages/shop/shop", true},
}

// languageSteps ask for the same three things in each language.
func languageSteps() []step {
	policies := []struct {
		title, story string
		step
	}{{
		"a retry of one rule", "orders answers 503 to the first two attempts at /flaky; flaky-again names that rule of each route.",
		step{path: "/flaky", times: 1, statuses: always(http.StatusOK), check: attempts, fields: []field{
			{kind: "MeshRetry", path: "http.numRetries", value: "3", by: "MeshRetry/languages/flaky-again"}}},
	}, {
		"no retry of the rule beside it", "catalog answers 503 to the first two attempts at /basket/flaky, which the last rule of each route takes: no policy names that, so the first answer stands.",
		step{path: "/basket/flaky", times: 1, statuses: always(http.StatusServiceUnavailable), check: once},
	}, {
		"a timeout over the route's own", "orders takes three seconds at /slow; not-so-slow allows 300ms, and holds over the ten seconds that a route itself has there.",
		step{path: "/slow", times: 1, statuses: always(http.StatusGatewayTimeout), fields: []field{
			{kind: "MeshTimeout", path: "http.requestTimeout", value: `"300ms"`, by: "MeshTimeout/languages/not-so-slow"}}},
	}, {
		"a limit of one rule", "two-at-a-time lets two requests each 30s through to /limited; the third gets 429.",
		step{path: "/limited", times: 3, statuses: twice, fields: []field{
			{kind: "MeshRateLimit", path: "local.http.requestRate", value: `{"interval":"30s","num":2}`, by: "MeshRateLimit/languages/two-at-a-time"}}},
	}}
	var out []step
	for _, p := range policies {
		for i, l := range languages {
			s := p.step
			s.title, s.host, s.origins = fmt.Sprintf("%s: %s", l.name, p.title), l.host, []string{l.route}
			if i == 0 {
				s.story = p.story
			}
			if l.inline && len(s.fields) > 0 && s.fields[0].kind == "MeshTimeout" {
				f := s.fields[0]
				f.over = []string{l.route}
				s.fields = []field{f}
			}
			out = append(out, s)
		}
	}
	return out
}

// twice is a limit that lets two requests through.
func twice(i int) int {
	if i < 2 {
		return http.StatusOK
	}
	return http.StatusTooManyRequests
}
