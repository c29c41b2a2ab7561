package demo

import (
	"fmt"
	"net/http"
)

// step is a few equal requests and what the documents promise about them.
type step struct {
	title, story string
	service      string // called through the caller's sidecar
	path         string
	times        int
	statuses     func(i int) int // of request i
	origins      []string        // of the route that matches
	fields       []field         // of the policies that hold
	// check looks at all answers; it says what to print beside them.
	check func([]Response) (string, error)
}

// field is one field of an effective policy: its value, who set it, and the
// weaker opinions that it overrides.
type field struct {
	kind, path, value, by string
	over                  []string
}

func always(status int) func(int) int { return func(int) int { return status } }

// The split is drawn anew for each request; the bounds are far enough out that
// chance does not reach them.
const (
	splitRequests = 400
	splitLeast    = 10
	splitMost     = 90
)

var steps = []step{{
	title:   "Two MeshHTTPRoutes, one Envoy route",
	story:   "route-1 adds a header for everybody, route-2 splits what frontend sends; both match exactly /.\nTheir retries compete for the one route: mr-2 wins numRetries because route-2 is more specific,\nand mr-1 keeps retryOn because mr-2 does not name it.",
	service: "web", path: "/", times: 1, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/route-1", "MeshHTTPRoute/default/route-2"},
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "500", by: "MeshRetry/default/mr-2", over: []string{"MeshRetry/default/mr-1"}},
		{kind: "MeshRetry", path: "http.retryOn", value: `["5xx"]`, by: "MeshRetry/default/mr-1"},
	},
	check: customHeader,
}, {
	title:   "A split of 90 to 10",
	story:   "The same request many times: route-2 sends 90 % to version 1.0 of backend and 10 % to 2.0.",
	service: "web", path: "/", times: splitRequests, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/route-1", "MeshHTTPRoute/default/route-2"},
	check:   split,
}, {
	title:   "A retry rescues a flaky backend",
	story:   "orders answers 503 to the first two attempts at /flaky; flaky-retry is attached to that rule alone.",
	service: "orders", path: "/flaky", times: 1, statuses: always(http.StatusOK),
	origins: []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "3", by: "MeshRetry/default/flaky-retry", over: []string{"MeshRetry/default/mesh-retry-all-default"}},
		{kind: "MeshRetry", path: "http.retryOn", value: `["503"]`, by: "MeshRetry/default/flaky-retry"},
	},
	check: attempts,
}, {
	title:   "A timeout of one rule cuts a slow backend",
	story:   "orders takes three seconds at /slow; slow-timeout allows 300ms there and touches no other rule.",
	service: "orders", path: "/slow", times: 1, statuses: always(http.StatusGatewayTimeout),
	origins: []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"300ms"`, by: "MeshTimeout/default/slow-timeout", over: []string{"MeshTimeout/default/mesh-timeout-all-default"}},
	},
}, {
	title:   "A rate limit of one rule",
	story:   "limited-rate lets two requests each 30s through to /limited; the third gets 429.",
	service: "orders", path: "/limited", times: 3,
	statuses: func(i int) int {
		if i < 2 {
			return http.StatusOK
		}
		return http.StatusTooManyRequests
	},
	origins: []string{"MeshHTTPRoute/default/orders"},
	fields: []field{
		{kind: "MeshRateLimit", path: "local.http.requestRate", value: `{"interval":"30s","num":2}`, by: "MeshRateLimit/default/limited-rate"},
		{kind: "MeshRateLimit", path: "local.http.onRateLimit.status", value: "429", by: "MeshRateLimit/default/limited-rate"},
	},
	check: limited,
}, {
	title:   "Off the routes nothing of this holds",
	story:   "No rule matches /other: the request goes to web itself, with what holds for the whole mesh.",
	service: "web", path: "/other", times: 1, statuses: always(http.StatusOK),
	fields: []field{
		{kind: "MeshRetry", path: "http.numRetries", value: "5", by: "MeshRetry/default/mesh-retry-all-default"},
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"15s"`, by: "MeshTimeout/default/mesh-timeout-all-default"},
	},
}, {
	title:   "The platform's word over a route's own",
	story:   "backend takes three seconds at /slow, and patient-timeout, attached to its route, would wait a minute.\nplatform-timeout is an override: it holds over every default, also over those of a route.",
	service: "backend", path: "/slow", times: 1, statuses: always(http.StatusGatewayTimeout),
	origins: []string{"MeshHTTPRoute/default/backend"},
	fields: []field{
		{kind: "MeshTimeout", path: "http.requestTimeout", value: `"400ms"`, by: "MeshTimeout/default/platform-timeout", over: []string{"MeshTimeout/default/patient-timeout", "MeshTimeout/default/mesh-timeout-all-default"}},
	},
}}

func customHeader(all []Response) (string, error) {
	a := all[0].answer
	if a == nil || a.Service != "backend" || a.Headers["x-custom-header"] != "xyz" {
		return "", fmt.Errorf("wanted backend to see x-custom-header: xyz, it answers %+v", a)
	}
	return fmt.Sprintf("%s %s saw x-custom-header: xyz", a.Service, a.Version), nil
}

func split(all []Response) (string, error) {
	counts := map[string]int{}
	for _, r := range all {
		if r.answer != nil {
			counts[r.answer.Version]++
		}
	}
	text := fmt.Sprintf("backend 1.0: %d, backend 2.0: %d", counts["1.0"], counts["2.0"])
	if n := counts["2.0"]; counts["1.0"]+n != len(all) || n < splitLeast || n > splitMost {
		return text, fmt.Errorf("a split of 90 to 10 does not give %s", text)
	}
	return text, nil
}

func attempts(all []Response) (string, error) {
	a := all[0].answer
	if a == nil || a.Attempt != flakyFails+1 {
		return "", fmt.Errorf("wanted attempt %d to succeed, got %+v", flakyFails+1, a)
	}
	return fmt.Sprintf("attempt %d succeeded", a.Attempt), nil
}

func limited(all []Response) (string, error) {
	last := all[len(all)-1]
	if by := last.Headers["x-limited-by"]; by != "limited-rate" {
		return "", fmt.Errorf("wanted x-limited-by: limited-rate from the limit, got %q", by)
	}
	return "x-limited-by: limited-rate", nil
}
