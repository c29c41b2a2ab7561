package control_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// tells fails unless problems, status, explanation and the state of mutual TLS all say that a
// dataplane gets no certificate, with what helps; or, where it is not refused, none of them.
func (p *plane) tells(name, code, help string, refused bool) {
	p.t.Helper()
	for _, path := range []string{
		"/_problems",
		"/meshes/default/_status",
		"/meshes/default/dataplanes/" + name + "/_explain",
		"/meshes/default/_mtls?name=" + name,
	} {
		var text string
		said := func() bool {
			text = p.want(http.StatusOK, http.MethodGet, path, "")
			return strings.Contains(text, code) && strings.Contains(text, name) && strings.Contains(text, help)
		}
		if refused {
			eventually(p.t, fmt.Sprintf("%s says %s of %s with %q", path, code, name, help), said)
		} else if said() && strings.Contains(text, "--name "+name) {
			p.t.Errorf("%s: %s is not refused: %s", path, name, text)
		}
	}
}

// TestWhereNobodyProvesAnything (NoProof, spec/identity.md 2.3): without proof nothing is issued,
// and everything that is asked says so, with the flag that helps.
func TestWhereNobodyProvesAnything(t *testing.T) {
	t.Parallel()
	c := guarded(t)
	p := start(t, c)
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+fmt.Sprintf(mutual, "ca-1", builtin))
	p.tells("web-1", "NoProof", "--xds-plaintext", true)
	p.want(http.StatusOK, http.MethodPut, "/meshes/default", `{"type":"Mesh","name":"default"}`)
	eventually(t, "without identities nothing is refused", func() bool {
		return !strings.Contains(p.want(http.StatusOK, http.MethodGet, "/_problems", ""), "NoProof")
	})
}
