package server_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
)

// TestLimitsOfCallers: a limit for some callers is theirs, by what their certificates prove and
// not by what they write of themselves; the one for all is shared by all others, and who
// matches a rule of another policy too takes from the same bucket (spec/identity.md 1.5).
func TestLimitsOfCallers(t *testing.T) {
	t.Parallel()
	app := envoytest.StartBackend(t, "app")
	h := startHop(t, "delta", app.Port)
	h.put(mtlsMesh(t, "PERMISSIVE"), h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.apply(`{type: MeshRateLimit, mesh: default, name: all, spec: {rules: [
  {default: {local: {http: {requestRate: {num: 3, interval: 1h}, onRateLimit: {status: 429}}}}},
  {matches: [{spiffeID: {type: Prefix, value: "spiffe://default/team"}}], default: {local: {http: {requestRate: {num: 2, interval: 1h}}}}},
  {matches: [{spiffeID: {type: Exact, value: "spiffe://default/front"}}], default: {local: {http: {requestRate: {num: 1, interval: 1h}}}}}]}}`,
		`{type: MeshTimeout, mesh: default, name: batch, spec: {rules: [
  {matches: [{spiffeID: {type: Exact, value: "spiffe://default/team/batch"}}], default: {http: {requestTimeout: 1h}}}]}}`)
	h.both()
	h.front.Until("calls by TLS", func() bool {
		_, _, err := fetch(client(t), h.web)
		return err == nil && h.handshakes() > 0
	})
	ask := func(c *http.Client, url string) int {
		t.Helper()
		req, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-Client-Cert", "Hash=0;URI=spiffe://default/team/x") // of another's bucket
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		_, _ = io.Copy(io.Discard, resp.Body)
		return resp.StatusCode
	}
	prove := func(names ...string) (*http.Client, string) {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, NextProtos: []string{"weft"}, Certificates: []tls.Certificate{h.by.leaf(names...)}}}}
		t.Cleanup(c.CloseIdleConnections)
		return c, fmt.Sprintf("https://127.0.0.1:%d/", h.inWeb)
	}
	if got := ask(client(t), fmt.Sprintf("http://127.0.0.1:%d/", h.web)); got != 429 {
		t.Errorf("front, whose one request is gone: %d", got)
	}
	plain := func() (*http.Client, string) { return client(t), fmt.Sprintf("http://127.0.0.1:%d/", h.inWeb) }
	for _, s := range []struct {
		who  string
		want int
	}{
		{"spiffe://default/team/x", 200}, {"spiffe://default/team/batch", 200}, {"spiffe://default/team/y", 429}, {"spiffe://default/team/batch", 429},
		{"spiffe://default/teamx", 200}, {"", 200}, {"spiffe://default/other", 200}, {"spiffe://default/other", 429}, {"", 429},
	} {
		c, url := plain()
		if s.who != "" {
			c, url = prove(s.who)
		}
		if got := ask(c, url); got != s.want {
			t.Errorf("%q is answered %d, want %d", s.who, got, s.want)
		}
	}
}
