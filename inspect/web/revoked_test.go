package web_test

import (
	"net/http"
	"strings"
	"testing"
)

const (
	secureMesh = "type: Mesh\nname: default\nmtls: {enabledBackend: ca, backends: [{name: ca, type: builtin, mode: STRICT}]}\n"
	revokedFE  = "type: MeshTrafficPermission\nmesh: default\nname: revoked-identities-default\nspec:\n  targetRef: {kind: Mesh}\n  rules: [{override: {deny: [{spiffeID: {type: Exact, value: spiffe://default/fe}}]}}]\n"
	everyoneIn = "type: MeshTrafficPermission\nmesh: default\nname: everyone\nspec:\n  targetRef: {kind: Mesh}\n  rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}]}}]\n"
	twoOfMesh  = `type: Dataplane
mesh: default
name: fe-1
networking: {address: 10.0.0.1, inbound: [{port: 80, tags: {kuma.io/service: fe, kuma.io/protocol: http}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 10.0.0.2, inbound: [{port: 80, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}
`
)

// TestARollbackLetsNobodyInAgainWhoWasRevoked: revocations stay over a rollback, which says so, unless
// that is asked for; and what lets in more is told.
func TestARollbackLetsNobodyInAgainWhoWasRevoked(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, secureMesh, false)
	stored(t, server.URL, twoOfMesh, everyoneIn, revokedFE)
	const document = "/meshes/default/meshtrafficpermissions/revoked-identities-default"
	code, text := call(t, http.MethodPost, server.URL+"/_rollback?to=3&dryRun=true", "")
	if code != http.StatusOK || strings.Contains(text, `"change":"widens"`) {
		t.Errorf("a plan: %d %s", code, text)
	}
	code, text = call(t, http.MethodPost, server.URL+"/_rollback?to=3", "")
	if code != http.StatusOK || !strings.Contains(text, "--restore-revoked") || strings.Contains(text, `"widens"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := call(t, http.MethodGet, server.URL+document, ""); code != http.StatusOK {
		t.Errorf("the document of revocations: %d", code)
	}
	code, text = call(t, http.MethodPost, server.URL+"/_rollback?to=3&restoreRevoked=true", "")
	if code != http.StatusOK || !strings.Contains(text, `"widens":[{"mesh":"default","caller":{"identity":"spiffe://default/fe"`) {
		t.Errorf("with restoreRevoked: %d %s", code, text)
	}
	if code, _ := call(t, http.MethodGet, server.URL+document, ""); code != http.StatusNotFound {
		t.Errorf("the document of revocations after restoreRevoked: %d", code)
	}
}

// TestAnApplySaysWhoGetsIn: what is stored and lets in more is told with the answer.
func TestAnApplySaysWhoGetsIn(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, secureMesh, false)
	stored(t, server.URL, twoOfMesh, strings.Replace(everyoneIn, "Prefix, value: spiffe://default", "Exact, value: spiffe://default/web", 1))
	code, text := call(t, http.MethodPost, server.URL+"/_apply", everyoneIn)
	if code != http.StatusOK || !strings.Contains(text, `"identity":"spiffe://default/fe"`) || !strings.Contains(text, `"change":"widens"`) {
		t.Errorf("%d %s", code, text)
	}
	if code, text = call(t, http.MethodPost, server.URL+"/_apply", everyoneIn); code != http.StatusOK || strings.Contains(text, "widens") {
		t.Errorf("the same again: %d %s", code, text)
	}
}
