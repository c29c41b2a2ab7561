package xds_test

import (
	"net/http"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/all"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// TestPreflightsInEnvoy: a preflight takes no token and asks no backend, whoever asks;
// scripts may read what is answered over a limit; a route that answers by itself gives none.
func TestPreflightsInEnvoy(t *testing.T) {
	t.Parallel()
	origin, err := match.Compare(match.OnHeader, route.RequestOrigin, match.Equal, 0, "https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	filter := route.Filter{CORS: &route.CORS{Origins: []route.AllowedOrigin{{Is: origin}}, Methods: []string{"PUT"}}}
	limited, redirects := rule("limited", path(match.SegmentPrefix, "/limited"), filter), rule("redirects", path(match.SegmentPrefix, "/redirects"), filter)
	limited.Policies = limits(item("limit", hourly(1)))
	redirects.Answer = &route.Redirect{Hostname: "example.org"}
	o := envoytest.NewOracle(t, all.Kinds, envoytest.Tables(table(limited, redirects)))
	for _, c := range []struct {
		method, path, origin string
		status, attempts     int
		allowOrigin          string
	}{
		{"OPTIONS", "/limited", "https://a.example", 200, 0, "https://a.example"},
		{"OPTIONS", "/limited", "https://b.example", 200, 0, ""},
		{"PUT", "/limited", "https://a.example", 200, 1, "https://a.example"},
		{"PUT", "/limited", "https://a.example", 429, 0, "https://a.example"},
		{"PUT", "/limited", "https://b.example", 429, 0, ""},
		{"OPTIONS", "/limited", "https://a.example", 200, 0, "https://a.example"},
		{"OPTIONS", "/redirects", "https://a.example", 302, 0, ""},
	} {
		headers := http.Header{"Origin": {c.origin}}
		if c.method == "OPTIONS" {
			headers.Set("Access-Control-Request-Method", "PUT")
		}
		a, err := o.Ask(0, envoytest.Question{Method: c.method, Host: "web", Path: c.path, Headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Headers.Get("Access-Control-Allow-Origin"); a.Status != c.status || len(a.Attempts) != c.attempts || got != c.allowOrigin {
			t.Errorf("%+v: %d with %q after %d attempts", c, a.Status, got, len(a.Attempts))
		}
	}
}
