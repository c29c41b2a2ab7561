package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestRequestsAreCountedByRoute: paths that clients make up are one series, and those of a
// kind of document another, with the codes of the answers.
func TestRequestsAreCountedByRoute(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.AdminAuth = "token"
	p := start(t, c)
	token := p.token
	for i := range 30 {
		p.call(http.MethodGet, fmt.Sprintf("/made/up/%d/%d", i, i), "")
		p.call(http.MethodGet, fmt.Sprintf("/meshes/default/meshretries/nobody-%d", i), "")
	}
	p.token = "wrong"
	p.want(http.StatusUnauthorized, http.MethodGet, "/meshes", "")
	p.token = token
	text := p.want(http.StatusOK, http.MethodGet, "/metrics", "")
	for _, want := range []string{
		`weft_api_requests_total{code="404",route="unknown"} 30`,
		`weft_api_requests_total{code="404",route="GET /meshes/{mesh}/{plural}/{name}"} 30`,
		`weft_api_requests_total{code="401",route="refused"} 1`,
		`weft_api_request_seconds_count{route="GET /meshes/{mesh}/{plural}/{name}"} 30`,
		`weft_store_write_seconds_count{outcome="stored"}`,
		`weft_objects{kind="Mesh"} 1`,
		`weft_store_healthy 1`,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no metric %s", want)
		}
	}
	if strings.Contains(text, "nobody-") || strings.Contains(text, "/made/") {
		t.Error("a path is a label")
	}
}
