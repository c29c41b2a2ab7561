package control_test

import (
	"encoding/base64"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/control"
)

// guarded is the configuration of a control plane that keeps authorities, and knows its users.
func guarded(t testing.TB) control.Config {
	t.Helper()
	c := config(t)
	c.Store, c.AdminAuth = "bolt", "token"
	return c
}

const meshSecret = "/meshes/default/secrets/own"

// TestMeshSecretsAreSealed (I10): what a Secret of a mesh holds, Kuma's document of that type,
// is shown to nobody and stands in no file; who writes back what was shown changes nothing.
func TestMeshSecretsAreSealed(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	const canary = "Canary-of-a-mesh"
	encoded := base64.StdEncoding.EncodeToString([]byte(canary))
	var log journal
	p := startLogging(t, c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	p.want(http.StatusCreated, http.MethodPut, meshSecret, "type: Secret\nmesh: default\nname: own\ndata: "+encoded+"\n")
	shown := p.want(http.StatusOK, http.MethodGet, meshSecret, "")
	if !strings.Contains(shown, `"data":"sha256:`) || !strings.Contains(shown, `"type":"Secret"`) {
		t.Errorf("shown as %s", shown)
	}
	secretive := func(where, text string) {
		t.Helper()
		if strings.Contains(text, canary) || strings.Contains(text, encoded) {
			t.Errorf("%s tells the secret", where)
		}
	}
	for _, path := range []string{meshSecret, meshSecret + "?format=written", "/meshes/default/secrets", "/secrets", "/_problems", "/_history", "/meshes/default/_status"} {
		secretive(path, p.want(http.StatusOK, http.MethodGet, path, ""))
	}
	if text := p.want(http.StatusOK, http.MethodPost, "/_apply", shown); !strings.Contains(text, `"unchanged"`) {
		t.Errorf("to write back what was shown: %s", text)
	}
	secretive("a plan", p.want(http.StatusOK, http.MethodPost, "/_apply?dryRun=true", "type: Secret\nmesh: default\nname: own\ndata: "+base64.StdEncoding.EncodeToString([]byte("another"))))
	for _, text := range []string{"type: Secret\nmesh: default\nname: x\ndata: \"?\"", "type: Secret\nmesh: default\nname: x", "type: Secret\nmesh: default\nname: x\nnamespace: y\ndata: " + encoded} {
		code, answer := p.call(http.MethodPost, "/_apply", text)
		if secretive("a refusal", answer); code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", text, code, answer)
		}
	}
	p.stop()
	for name, text := range files(t, c.DataDir) {
		secretive(name, string(text))
	}
	secretive("the log", log.String())
	p = start(t, c)
	defer p.stop()
	if again := p.want(http.StatusOK, http.MethodGet, meshSecret, ""); again != shown {
		t.Errorf("after a restart %s and not %s", again, shown)
	}
}

// TestAuthoritiesAreChecked (cases 1, 3, 5).
func TestAuthoritiesAreChecked(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	c.Store = "memory"
	p := start(t, c)
	defer p.stop()
	mesh := func(mtls string) string { return "type: Mesh\nname: default\nmtls: {" + mtls + "}\n" }
	for _, w := range []struct{ mtls, want string }{
		{"enabledBackend: ca1, backends: [{name: ca-1, type: builtin}]", "mtls.enabledBackend"},
		{"enabledBackend: a, backends: [{name: a, type: builtin, dpCert: {rotation: {expiration: 1x}}}]", "no length of time"},
		{"enabledBackend: a, backends: [{name: a, type: builtin, dpCert: {rotation: {expiration: 5m}}}]", "too short"},
		{"enabledBackend: a, backends: [{name: a, type: vault}]", "builtin"},
	} {
		if code, text := p.call(http.MethodPost, "/_apply", mesh(w.mtls)); code != http.StatusBadRequest || !strings.Contains(text, w.want) {
			t.Errorf("%s: %d %s", w.mtls, code, text)
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", mesh("enabledBackend: a, backends: [{name: a, type: builtin, dpCert: {rotation: {expiration: 1d}}}]"))
}
