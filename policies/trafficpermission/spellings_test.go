package trafficpermission_test

import (
	"net/http"
	"testing"
)

// TestSpellings: a path that a deny names is refused however it is written, but where only
// the workload equates two paths (spec/identity.md F12, 4.4; threat I9).
func TestSpellings(t *testing.T) {
	t.Parallel()
	in := start(t, confOf(t, `{rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}],
		deny: [{http: {path: {type: PathPrefix, value: /admin}}}]}}]}`))
	for path, want := range map[string]int{
		"/admin":              403,
		"/admin/":             403,
		"/admin/x?y=1":        403,
		"//admin":             403,
		"/x//../admin":        200, // and so it is forwarded: as /x/admin
		"/x/../admin":         403,
		"/./admin":            403,
		"/admin%2fx":          400,
		"/x%2f..%2fadmin":     400,
		`/admin%5cx`:          400,
		"/%61dmin":            403,
		"/Admin":              200,
		"/admin;x=1":          200,
		"/administrators":     200,
		"/x":                  200,
		"/%2e%2e/admin":       403,
		"/x/%2e%2e/admin":     403,
		"/secret/../admin#/x": 400, // a fragment is no part of a request
	} {
		if got := in.ask(t, in.mtls, "0", "a GET "+path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
}

// TestNamesOfTwoDomains: who has names of two trust domains comes in nowhere, be the foreign
// name allowed, its own, or both (spec/identity.md F2, F3; threats I5, I7).
func TestNamesOfTwoDomains(t *testing.T) {
	t.Parallel()
	in := start(t, confOf(t, `{rules: [{override: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}]}}, {default: {allow: [{spiffeID: {type: Prefix, value: spiffe://td}}]}}]}`),
		confOf(t, `{rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}], deny: [{spiffeID: {type: Exact, value: spiffe://default/other}}]}}]}`))
	for _, c := range []struct {
		host, who string
		want      int
	}{
		{"0", "frontend", 200},
		{"0", "spiffe://td/web", 200},
		{"0", "spiffe://td/web+spiffe://default/frontend", 403},
		{"0", "frontend+spiffe://td/web", 403},
		{"1", "frontend", 200},
		{"1", "other", 403},
		{"1", "other+frontend", 403},
		{"1", "frontend+other", 403},
	} {
		if got := in.ask(t, in.mtls, c.host, c.who+" GET /"); got != c.want {
			t.Errorf("%s: %d, want %d", c.who, got, c.want)
		}
	}
}

// TestCountedByName: what Envoy counts is what Decide names (spec/identity.md 8, cases 28 and 29).
func TestCountedByName(t *testing.T) {
	t.Parallel()
	in := start(t, confOf(t, `{rules: [{default: {allow: [{http: {methods: [GET], path: {type: PathPrefix, value: /v1}}}], deny: [{spiffeID: {type: Exact, value: spiffe://default/evil}}],
		allowWithShadowDeny: [{spiffeID: {type: Exact, value: spiffe://default/web}}]}}]}`))
	for _, text := range []string{"orders GET /v1", "orders GET /v1/x", "orders POST /v1/x", "evil GET /v1", "web GET /x"} {
		in.ask(t, in.mtls, "0", text)
	}
	const name = "policy.kri_mtp_default___p0_:0."
	got := in.envoy.Stats("http.mtls.rbac.")
	for stat, want := range map[string]int{
		"allow." + name + "allow0.allowed": 2, "allow." + name + "allowWithShadowDeny0.allowed": 1, "allow.denied": 1,
		"deny." + name + "deny0.denied": 1, "deny.denied": 1, "weft_." + name + "allowWithShadowDeny0.shadow_denied": 1, "weft_.shadow_denied": 1, "weft_.shadow_allowed": 2,
	} {
		if got["http.mtls.rbac."+stat] != want {
			t.Errorf("%s is %d, want %d; there is %v", stat, got["http.mtls.rbac."+stat], want, got)
		}
	}
}

// TestClosedWithoutWord: a route about which nothing is said, because a bug kept it from
// being written, lets nobody in (spec/identity.md F13; threat I13).
func TestClosedWithoutWord(t *testing.T) {
	t.Parallel()
	in := start(t, nil)
	if got := in.ask(t, in.mtls, "0", "a GET /"); got != http.StatusForbidden {
		t.Errorf("%d", got)
	}
	if got := in.ask(t, in.plain, "0", "- GET /"); got != http.StatusOK {
		t.Errorf("plaintext: %d", got)
	}
	if got := in.envoy.Stats("http.plain.rbac.")["http.plain.rbac.weft_.shadow_denied"]; got != 1 {
		t.Errorf("%d are counted that a strict inbound would refuse", got)
	}
}
