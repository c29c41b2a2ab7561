package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// Kuma's client has no word for tenancy: a Mesh that it writes keeps the one that there is. Who knows
// the field, and leaves it out, takes it away.
func TestKumasClientKeepsTenancy(t *testing.T) {
	t.Parallel()
	server, _ := serve(t, "type: Mesh\nname: shared\ntenancy: {hosts: {mode: Owned}}\n", false)
	at := server.URL + "/meshes/shared"
	const plain = `{"type":"Mesh","name":"shared"}`
	if code, text := send(t, http.MethodPut, at, plain, "User-Agent", "kumactl/2.13.10 (linux; amd64)"); code != http.StatusOK {
		t.Fatal(code, text)
	}
	if _, text := call(t, http.MethodGet, at, ""); !strings.Contains(text, "Owned") {
		t.Errorf("kumactl took the tenancy away: %s", text)
	}
	send(t, http.MethodPut, at, plain, "User-Agent", "weft/1")
	if _, text := call(t, http.MethodGet, at, ""); strings.Contains(text, "Owned") {
		t.Errorf("nobody can take the tenancy away: %s", text)
	}
}
