package control_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const wrongKey = `type: MeshExternalService
mesh: default
name: wrong
spec:
  match: {type: HostnameGenerator, port: 443, protocol: http}
  endpoints: [{address: bank.example.org, port: 443}]
  tls: {enabled: true, verification: {clientCert: {inlineString: c}, clientKey: q7Xcanary}}
---
type: MeshExternalService
mesh: default
name: right
spec:
  match: {type: HostnameGenerator, port: 443, protocol: http}
  endpoints: [{address: bank.example.org, port: 443}]
  tls: {enabled: true, verification: {clientCert: {inlineString: c}, clientKey: {inlineString: q7Xcanary}}}
`

// Nothing that a control plane says to a user or writes down holds a secret,
// wherever the secret may have come from: a link in the directory to a file of
// the data directory or of anybody else, a file that holds no document, a private
// key in the wrong place or in the right one, a token that is refused.
func TestNoOutputHoldsASecret(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := config(t)
	c.Store, c.Dir, c.AdminAuth = "bolt", dir, "token"
	traces, address := collect(t)
	c.OTLPEndpoint = address
	var log journal
	outside := t.TempDir()
	writeFile(t, outside, "key.pem", "-----BEGIN PRIVATE KEY-----\nq7Xcanary\n-----END PRIVATE KEY-----\n")
	for name, to := range map[string]string{"token.yaml": filepath.Join(c.DataDir, "admin-token"), "store.yaml": filepath.Join(c.DataDir, "weft.db"),
		"key.yaml": filepath.Join(outside, "key.pem"), "inner.yaml": "plain.txt"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, dir, "plain.txt", "q7Xcanary\n")
	writeFile(t, dir, "settings.yaml", "password: q7Xcanary\n")
	writeFile(t, dir, "list.json", `["q7Xcanary", {"q7Xcanary": 1}]`)
	writeFile(t, dir, "broken.json", `{"a": q7Xcanary`)
	writeFile(t, dir, "alias.yaml", "*q7Xcanary\n")
	writeFile(t, dir, "wrong.yaml", wrongKey)
	writeFile(t, dir, "world.yaml", worldDocs)
	p := startLogging(t, c, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	admin := p.token
	issued := strings.Trim(strings.TrimSpace(p.want(http.StatusOK, http.MethodPost, "/tokens/user", `{"name": "alice", "groups": ["a"], "validFor": "1h"}`)), `"`)
	p.token = "q7Xcanary"
	if code, _ := p.call(http.MethodGet, "/meshes", ""); code != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d", code)
	}
	p.token = issued
	said := map[string]string{}
	for _, path := range []string{"/_problems", "/meshes/default/_status", "/meshes/default/_overview", "/metrics", "/meshes", "/meshexternalservices",
		"/meshes/default/meshexternalservices/right", "/meshes/default/meshexternalservices/right?format=written", "/meshes/default/meshexternalservices/right?format=kubernetes",
		"/meshes/default/dataplanes/frontend-1/_explain", "/global-insight", "/who-am-i"} {
		_, said[path] = p.call(http.MethodGet, path, "")
	}
	if code, text := p.call(http.MethodGet, "/config", ""); code != http.StatusForbidden || strings.Contains(text, "store") {
		t.Errorf("a user who is no administrator reads the configuration: %d %s", code, text)
	}
	p.token = admin
	said["/config"] = p.want(http.StatusOK, http.MethodGet, "/config", "")
	if !strings.Contains(said["/_problems"], "token.yaml") || !strings.Contains(said["/_problems"], "wrong.yaml") || !strings.Contains(said["/meshexternalservices"], `"right"`) {
		t.Errorf("the problems are not said, or the document is not served: %s\n%s", said["/_problems"], said["/meshexternalservices"])
	}
	p.stop()
	said["the log"], said["the traces"] = log.String(), traces.text()
	for where, text := range said {
		for name, secret := range map[string]string{"a canary": "q7X", "the admin token": admin, "a part of the admin token": admin[:16], "a user's token": issued} {
			if strings.Contains(text, secret) {
				t.Errorf("%s holds %s", where, name)
			}
		}
	}
	if !strings.Contains(said["the log"], "token.yaml") {
		t.Error("the log does not say that the link is refused")
	}
	if !strings.Contains(said["the traces"], `"change"`) {
		t.Errorf("no change is traced: %s", said["the traces"])
	}
}
