package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/inspect/web"
)

// alice is a user, and no administrator.
type alice struct{ noTokens }

func (alice) WhoIs(token string) (string, []string, error) {
	if token != "alice" {
		return "", nil, errors.New("nobody")
	}
	return "alice", []string{"team-a"}, nil
}

const bank = `type: MeshExternalService
mesh: default
name: bank
spec:
  match: {type: HostnameGenerator, port: 443, protocol: http}
  endpoints: [{address: bank.example.org, port: 443}]
  tls: {enabled: true, verification: {clientCert: {inlineString: certificate}, clientKey: {inlineString: canary}}}
---
type: Dataplane
mesh: default
name: frontend-1
networking:
  address: 127.0.0.1
  inbound: [{port: 8080, tags: {kuma.io/service: frontend}}]
  outbound: [{port: 10001, backendRef: {kind: MeshExternalService, name: bank}}]
`

func ask(t *testing.T, url, token string) (int, string) {
	t.Helper()
	return send(t, http.MethodGet, url, "", "Authorization", "Bearer "+token)
}

// No answer to a user holds a private key, whatever the user asks. To an
// administrator only the document as it was written does.
func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	server, _ := serveWith(t, bank, false, func(c *web.Config) { c.Admin, c.Tokens = "admin", alice{} })
	_, text := ask(t, server.URL+"/_openapi.json", "alice")
	var api struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal([]byte(text), &api); err != nil {
		t.Fatal(err)
	}
	certificates := 0
	for path, methods := range api.Paths {
		if methods["get"] == nil || path == "/_events" {
			continue
		}
		for _, kind := range [][2]string{{"meshexternalservices", "bank"}, {"dataplanes", "frontend-1"}} {
			path := strings.NewReplacer("{mesh}", "default", "{plural}", kind[0], "{name}", kind[1], "{kri}", "kri_extsvc_default_east__bank_").Replace(path)
			for _, query := range []string{"", "?format=universal", "?format=kubernetes", "?format=written"} {
				_, shown := ask(t, server.URL+path+query, "alice")
				if strings.Contains(shown, "canary") {
					t.Errorf("GET %s%s shows the key", path, query)
				}
				if strings.Contains(shown, "certificate") {
					certificates++
				}
				if _, shown := ask(t, server.URL+path+query, "admin"); strings.Contains(shown, "canary") && query != "?format=written" {
					t.Errorf("GET %s%s shows an administrator the key", path, query)
				}
			}
		}
	}
	if certificates < 10 {
		t.Errorf("only %d answers were about the service", certificates)
	}
	const written = "/meshes/default/meshexternalservices/bank?format=written"
	if code, text := ask(t, server.URL+written, "admin"); code != http.StatusOK || !strings.Contains(text, "canary") {
		t.Errorf("an administrator cannot save the document: %d %s", code, text)
	}
}

// Storing what was shown would replace the key by what stands for it.
func TestWhatIsHiddenIsNotWrittenBack(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, bank, false)
	const path = "/meshes/default/meshexternalservices/bank"
	_, shown := call(t, http.MethodGet, server.URL+path, "")
	for _, write := range [][2]string{{http.MethodPut, path}, {http.MethodPost, "/_apply"}} {
		code, text := call(t, write[0], server.URL+write[1], shown)
		if code != http.StatusBadRequest || !strings.Contains(text, "spec.tls.verification.clientKey") || !strings.Contains(text, "stands for a secret") {
			t.Errorf("%s: %d %s", write, code, text)
		}
	}
	_, written := call(t, http.MethodGet, server.URL+path+"?format=written", "")
	if !strings.Contains(written, "canary") {
		t.Fatalf("the key is lost: %s", written)
	}
	if code, text := call(t, http.MethodPut, server.URL+path, written); code != http.StatusOK {
		t.Errorf("what was written cannot be written again: %d %s", code, text)
	}
}
