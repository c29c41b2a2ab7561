package control_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestTokensTimesClaims (I1): of all services that a guest may say it is, it gets the name of the
// one that its token binds; and no token gets the name of whose it is not.
func TestTokensTimesClaims(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPut, "/meshes/default", `{"type":"Mesh","name":"default","labels":{"weft.io/unbound-tokens":"any"},"mtls":{"enabledBackend":"ca-1","backends":[{"name":"ca-1","type":"builtin","mode":"PERMISSIVE"}]}}`)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts}}
	defer client.CloseIdleConnections()
	services := []string{"web", "payments", "orders", "ledger"}
	tokens, given := map[string]string{}, 0
	for _, has := range services {
		for _, claims := range services {
			name := has + "-as-" + claims
			token := p.dataplaneToken(name, `,"tags":{"kuma.io/service":["`+has+`"]}`)
			tokens[name] = token
			if code, _ := p.ask(client, "https://"+p.XDS(), token, map[string]any{"mesh": "default", "name": name, "dataplaneResource": memberDocument(name, claims)}); code == http.StatusOK {
				close(p.acknowledges(name, token))
			}
			code, names, text := p.certify(token, name)
			switch {
			case has == claims && (code != http.StatusOK || names[0] != "spiffe://default/"+has):
				t.Errorf("%s: %d %s %s", name, code, names, text)
			case has == claims:
				given++
			case code == http.StatusOK:
				t.Errorf("%s: it is %s", name, names)
			}
		}
	}
	for of, token := range tokens { // another's dataplane, there or not
		for name := range tokens {
			if of == name || !strings.HasPrefix(name, "payments-") {
				continue
			}
			if code, names, text := p.certify(token, name); code != http.StatusForbidden && code != http.StatusTooManyRequests {
				t.Errorf("%s by the token of %s: %d %s %s", name, of, code, names, text)
			}
		}
	}
	if given != len(services) {
		t.Errorf("%d certificates were given", given)
	}
}
