package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// Kuma's client has no word for tenancy or telemetry: a Mesh that it writes keeps those that there are. Who
// knows the fields, and leaves them out, takes them away.
func TestKumasClientKeepsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: shared\ntenancy: {hosts: {mode: Owned}}\ntelemetry: {paths: match}\n", false)
	at := server.URL + "/meshes/shared"
	const plain = `{"type":"Mesh","name":"shared"}`
	if code, text := send(t, http.MethodPut, at, plain, "User-Agent", "kumactl/2.13.10 (linux; amd64)"); code != http.StatusOK {
		t.Fatal(code, text)
	}
	if _, text := call(t, http.MethodGet, at, ""); !strings.Contains(text, "Owned") || !strings.Contains(text, `"telemetry":{"paths":"match"}`) {
		t.Errorf("kumactl took the tenancy or the telemetry away: %s", text)
	}
	send(t, http.MethodPut, at, plain, "User-Agent", "weft/1")
	if _, text := call(t, http.MethodGet, at, ""); strings.Contains(text, "Owned") || strings.Contains(text, "telemetry") {
		t.Errorf("nobody can take them away: %s", text)
	}
}

// Kuma's client may ask for global secrets in the mesh that it has chosen: there are none.
func TestGlobalSecretsAreNone(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	for _, path := range []string{"/global-secrets", "/global-secrets?size=100", "/meshes/default/global-secrets", "/meshes/default/secrets", "/secrets"} {
		if code, text := call(t, http.MethodGet, server.URL+path, ""); code != http.StatusOK || strings.TrimSpace(text) != `{"total":0,"items":[],"next":null}` {
			t.Errorf("%s: %d %s", path, code, text)
		}
	}
	if code, text := call(t, http.MethodGet, server.URL+"/global-secrets/x", ""); code != http.StatusNotFound {
		t.Errorf("one of them: %d %s", code, text)
	}
}

// A token for all that have a tag is refused with the command that issues one for a dataplane, with that tag.
func TestATokenForATagNamesTheCommand(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: default\n", false)
	code, text := call(t, http.MethodPost, server.URL+"/tokens/dataplane", `{"mesh":"m","tags":{"kuma.io/service":["web"],"app":["a","b"]},"validFor":"1h"}`)
	if code != http.StatusBadRequest || !strings.Contains(text, "weft token dataplane") || !strings.Contains(text, "--mesh m") || !strings.Contains(text, "--tag kuma.io/service=web") {
		t.Errorf("%d %s", code, text)
	}
}

// Kuma's client reads the counts of dataplanes of each service, whether or not there are any, and each part
// of what a MeshMultiZoneService stands for.
func TestWhatKumasClientReadsIsThere(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, `
{type: Mesh, name: default}
---
{type: MeshExternalService, mesh: default, name: pay, spec: {match: {type: HostnameGenerator, port: 443}, endpoints: [{address: pay.example.com, port: 443}]}}
---
{type: MeshService, mesh: default, name: web, labels: {app: web}, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80}]}}
---
{type: MeshMultiZoneService, mesh: default, name: everywhere, spec: {selector: {meshService: {matchLabels: {app: web}}}, ports: [{port: 80}]}}
`, false)
	for path, want := range map[string][]string{
		"/meshes/default/service-insights":                 {`"name":"pay"`, `"dataplanes":{"total":0,"online":0,"offline":0}`},
		"/meshes/default/service-insights/pay":             {`"dataplanes":{"total":0,"online":0,"offline":0}`},
		"/meshes/default/meshmultizoneservices/everywhere": {`"meshServices":[{"name":"web","namespace":"","zone":"`, `"mesh":"default"}]`},
		"/": {`"basedOnKuma":"2.13.10"`},
	} {
		code, text := call(t, http.MethodGet, server.URL+path, "")
		for _, part := range want {
			if code != http.StatusOK || !strings.Contains(text, part) {
				t.Errorf("%s: %d, without %s: %s", path, code, part, text)
			}
		}
	}
}
