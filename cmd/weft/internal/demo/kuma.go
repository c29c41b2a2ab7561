package demo

import (
	"embed"
	"net/http"

	"github.com/weftmesh/weft/sim/permission"
)

//go:embed world/*.yaml
var kumaDocuments embed.FS

//go:embed secure/*.yaml
var kumaChanges embed.FS

// Kuma is a mesh with routes and policies as Kuma has them.
var Kuma = &World{
	mesh: "default", documents: kumaDocuments, steps: kumaSteps, changes: kumaChanges, caller: "frontend-1",
	workloads: []workload{
		{dataplane: "frontend-1", service: "frontend"}, {dataplane: "web-1", service: "web"}, {dataplane: "orders-1", service: "orders"},
		{dataplane: "backend-1", service: "backend", version: "1.0"}, {dataplane: "backend-2", service: "backend", version: "2.0"},
	},
	called: []call{byTag("web"), byTag("orders"), byTag("backend"), from("web-1", byTag("orders"))},
	next: []string{
		"get meshretries", "permissions --to orders", "mtls status", "explain dataplane frontend-1 --to web", "simulate --from frontend-1 GET http://orders/slow", "status",
	},
}

func byTag(service string) call {
	return call{host: service, by: "tags", ref: map[string]any{"kuma.io/service": service}}
}

// from is a call that another than the caller makes.
func from(dataplane string, c call) call {
	c.from = dataplane
	return c
}

// kumaSteps follow the design of policies that target routes.
var kumaSteps = []step{{
	title: "Two MeshHTTPRoutes, one Envoy route",
	story: "route-1 adds a header for everybody, route-2 splits what frontend sends; both match exactly /.\nTheir retries compete for the one route: mr-2 wins numRetries because route-2 is more specific,\nand mr-1 keeps retryOn because mr-2 does not name it.",
	host:  "web", path: "/", times: 1, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/route-1", "MeshHTTPRoute/default/route-2"},
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "500", by: "MeshRetry/default/mr-2", over: []string{"MeshRetry/default/mr-1"}},
		{kind: "MeshRetry", path: "http.retryOn", value: `["5xx"]`, by: "MeshRetry/default/mr-1"},
	},
	check: customHeader,
}, {
	title: "A split of 90 to 10",
	story: "The same request many times: route-2 sends 90 % to version 1.0 of backend and 10 % to 2.0.",
	host:  "web", path: "/", times: splitRequests, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/route-1", "MeshHTTPRoute/default/route-2"},
	check:   split,
}, {
	title: "A retry rescues a flaky backend",
	story: "orders answers 503 to the first two attempts at /flaky; flaky-retry is attached to that rule alone.",
	host:  "orders", path: "/flaky", times: 1, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "3", by: "MeshRetry/default/flaky-retry", over: []string{"MeshRetry/default/mesh-retry-all-default"}},
		{kind: "MeshRetry", path: "http.retryOn", value: `["503"]`, by: "MeshRetry/default/flaky-retry"},
	},
	check: attempts,
}, {
	title: "A timeout of one rule cuts a slow backend",
	story: "orders takes three seconds at /slow; slow-timeout allows 300ms there and touches no other rule.",
	host:  "orders", path: "/slow", times: 1, statuses: always(http.StatusGatewayTimeout),
	origins: []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"300ms"`, by: "MeshTimeout/default/slow-timeout", over: []string{"MeshTimeout/default/mesh-timeout-all-default"}},
	},
}, {
	title: "A rate limit of one rule",
	story: "limited-rate lets two requests each 30s through to /limited; the third gets 429.",
	host:  "orders", path: "/limited", times: 3,
	statuses: twice,
	origins:  []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshRateLimit", path: "local.http.requestRate", value: `{"interval":"30s","num":2}`, by: "MeshRateLimit/default/limited-rate"},
		{kind: "MeshRateLimit", path: "local.http.onRateLimit.status", value: "429", by: "MeshRateLimit/default/limited-rate"},
	},
	check: limited,
}, {
	title: "Off the routes nothing of this holds",
	story: "No rule matches /other: the request goes to web itself, with what holds for the whole mesh.",
	host:  "web", path: "/other", times: 1, statuses: always(http.StatusOK),
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "5", by: "MeshRetry/default/mesh-retry-all-default"},
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"15s"`, by: "MeshTimeout/default/mesh-timeout-all-default"},
	},
}, {
	title: "The platform's word over a route's own",
	story: "backend takes three seconds at /slow, and patient-timeout, attached to its route, would wait a minute.\nplatform-timeout is an override: it holds over every default, also over those of a route.",
	host:  "backend", path: "/slow", times: 1, statuses: always(http.StatusGatewayTimeout),
	origins: []string{"MeshHTTPRoute/default/backend"},
	fields: []field{
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"400ms"`, by: "MeshTimeout/default/platform-timeout", over: []string{"MeshTimeout/default/patient-timeout", "MeshTimeout/default/mesh-timeout-all-default"}},
	},
}, {
	title: "From plain text to strict mutual TLS, under traffic",
	story: "frontend goes on calling web while the mesh gets an authority that admits plain text, and then one that\nrefuses it. Every sidecar makes its own key; each endpoint is called by TLS once its sidecar takes it.",
	host:  "web", path: "/other", times: 1, statuses: always(http.StatusOK),
	apply: []string{"secure/permissive.yaml", "secure/strict.yaml"}, meanwhile: true,
	permission: &decided{permission.Allow, "MeshTrafficPermission/default/mesh-traffic-permission-all-default"},
}, {
	title: "One permission on one rule",
	story: "All of the mesh may call orders; a permission on the rule of /admin lets in web alone.\nIt is asked at orders, by whatever way a request comes, and touches no other rule.",
	host:  "orders", path: "/admin", times: 2, callers: []string{"frontend-1", "web-1"}, statuses: adminAlone,
	apply:      []string{"secure/admin.yaml"},
	origins:    []string{"MeshHTTPRoute/default/orders"},
	permission: &decided{permission.Deny, "MeshTrafficPermission/default/admin-for-web"},
	check:      keptOut,
}, {
	title: "The split, by certificates",
	story: "What the split selects by, version 1.0 and 2.0 of backend, is bound by the tokens of their sidecars:\nin strict mutual TLS nobody takes requests by a tag that it only claims.",
	host:  "web", path: "/", times: splitRequests, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/route-1", "MeshHTTPRoute/default/route-2"},
	check:   split,
}}

// adminAlone is 403 for the first caller alone.
func adminAlone(i int) int {
	if i == 0 {
		return http.StatusForbidden
	}
	return http.StatusOK
}
