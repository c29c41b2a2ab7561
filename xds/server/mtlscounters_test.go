package server_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/sim/permission"
)

// verdict is what sim says of a request written 'who METHOD path'.
func (r *ruled) verdict(text string) *permission.Permission {
	r.t.Helper()
	f := strings.Fields(text)
	v := &permission.Visit{Request: &match.Request{Method: f[1], Path: f[2]}}
	if f[0] != "-" {
		v.Names = []string{"spiffe://default/" + f[0]}
	}
	p, status := permission.Decide(r.inbound(), v)
	if status != 0 {
		r.t.Fatalf("%s: %d without a decision", text, status)
	}
	return p
}

func (r *ruled) inbound() *effective.Inbound {
	r.t.Helper()
	server, ok := r.model.Dataplane(dataplaneRef("server"))
	if !ok {
		r.t.Fatal("there is no server")
	}
	return server.Inbounds[0].Inbound
}

// rose are the counters of permissions that a request adds to, without those of whole filters.
func (r *ruled) rose(text string, status int) map[string]int {
	r.t.Helper()
	const of = "http."
	before := r.server.Stats(of)
	if got := r.ask(text); got != status {
		r.t.Errorf("%s: %d, want %d", text, got, status)
	}
	out := map[string]int{}
	for name, n := range r.server.Stats(of) {
		if at := strings.Index(name, ".rbac."); at >= 0 && n > before[name] {
			out[name[at+len(".rbac."):]] = n - before[name]
		}
	}
	return out
}

// TestSimulatedEntriesAreEnvoysCounters (cases 28 to 30): the entry that a simulation names, be it
// one that lets in, refuses or would refuse, is the one whose counter rises at the sidecar, and
// none rises that it does not name.
func TestSimulatedEntriesAreEnvoysCounters(t *testing.T) {
	t.Parallel()
	r := startRuled(t, `{type: MeshTrafficPermission, mesh: default, name: p, spec: {rules: [
  {default: {allow: [{spiffeID: {type: Exact, value: "spiffe://default/ops"}}, {http: {methods: [GET], path: {type: PathPrefix, value: /v1}}}],
    allowWithShadowDeny: [{spiffeID: {type: Exact, value: "spiffe://default/web"}}], deny: [{spiffeID: {type: Exact, value: "spiffe://default/evil"}}]}}]}}`,
		`{type: MeshTrafficPermission, mesh: default, name: trial, labels: {kuma.io/effect: shadow}, spec: {rules: [{default: {deny: [{spiffeID: {type: Exact, value: "spiffe://default/orders"}}]}}]}}`)
	for _, s := range []struct {
		text   string
		status int
		list   string // of the filter in which the entry is
		shadow bool   // a deny that is only counted
	}{
		{"a GET /v1", http.StatusOK, "allow", false},
		{"a POST /v1/x", http.StatusForbidden, "", false},
		{"ops POST /x", http.StatusOK, "allow", false},
		{"evil GET /v1", http.StatusForbidden, "deny", false},
		{"web POST /x", http.StatusOK, "allow", true},
		{"orders GET /v1", http.StatusOK, "allow", true},
	} {
		p, rose := r.verdict(s.text), r.rose(s.text, s.status)
		if decision := map[int]string{http.StatusOK: permission.Allow, http.StatusForbidden: permission.Deny}[s.status]; p.Decision != decision {
			t.Errorf("%s: sim says %s", s.text, p.Decision)
		}
		want := map[string]bool{}
		if p.By != nil {
			want[fmt.Sprintf("%s.policy.%s.%s", s.list, p.By.Name, map[string]string{permission.Allow: "allowed", permission.Deny: "denied"}[p.Decision])] = true
		}
		if s.list == "" && (p.By != nil || rose["allow.denied"] != 1) {
			t.Errorf("%s: nothing lets it in, and sim names %+v, Envoy counts %v", s.text, p.By, rose)
		}
		if s.shadow != (p.Shadow == permission.Deny) || s.shadow && p.ShadowBy == nil {
			t.Errorf("%s: shadow %q by %+v", s.text, p.Shadow, p.ShadowBy)
		}
		shadows := 0
		for name := range rose {
			switch {
			case strings.HasSuffix(name, "shadow_denied") && strings.Contains(name, ".policy."):
				shadows++
				if p.ShadowBy == nil || !strings.Contains(name, "policy."+p.ShadowBy.Name+".") {
					t.Errorf("%s: Envoy counts %s as what would refuse it, sim names %+v", s.text, name, p.ShadowBy)
				}
			case strings.Contains(name, ".policy.") && !strings.Contains(name, "shadow_") && !want[name]:
				t.Errorf("%s: Envoy counts %s, sim names %+v", s.text, name, p.By)
			}
		}
		for name := range want {
			if rose[name] != 1 {
				t.Errorf("%s: sim names %s, Envoy counts %v", s.text, name, rose)
			}
		}
		if s.shadow != (shadows == 1) {
			t.Errorf("%s: %d entries count as what would refuse it: %v", s.text, shadows, rose)
		}
	}
}

// TestPlainCallersOfOnePath (case 33): at an inbound with three chains, an entry for anonymous callers
// has callers in plain text judged: they get the path that it names, and no other; callers of the
// mesh are judged as ever, and those that speak TLS with the workload are let through.
func TestPlainCallersOfOnePath(t *testing.T) {
	t.Parallel()
	r := startRuled(t, `{type: MeshTLS, mesh: default, name: m, spec: {rules: [{default: {mode: Permissive}}]}}`,
		`{type: MeshTrafficPermission, mesh: default, name: p, spec: {rules: [{default: {allow: [{anonymous: true, http: {path: {type: PathPrefix, value: /metrics}}}, {spiffeID: {type: Exact, value: "spiffe://default/ops"}}]}}]}}`)
	r.expect("33", "- GET /metrics", 200, map[string]int{"- GET /": 403, "- GET /metrics/x": 200, "- GET /metricsx": 403, "ops GET /": 200, "ops GET /metrics": 200, "web GET /metrics": 403})
	var names []string
	at, _ := r.model.Dataplane(dataplaneRef("server")) // it has answered
	for _, l := range r.by.Renderer.Render(at).Listeners {
		for _, c := range envoytest.Listener(t, l).FilterChains {
			names = append(names, c.Name)
		}
	}
	if got := strings.Join(names, " "); got != "plain mtls own" {
		t.Errorf("the chains are %s", got)
	}
}
