package server_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// TestPlaintextToStrictAndBack: two sidecars go from plain text to mutual TLS, which the
// server insists on in the end, and back, under requests by HTTP/1.1, HTTP/2 and bytes of
// which none fails (spec/identity.md 0, F6 and F8; case 34).
func TestPlaintextToStrictAndBack(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		app := envoytest.StartBackend(t, "app")
		h := startHop(t, form, app.Port)
		loads := map[string]*load{
			"http/1.1": startLoad(h.web, func() *http.Client { return client(t) }),
			"http/2":   startLoad(h.web, func() *http.Client { return client2(t) }),
			"bytes":    startLoad(h.bytes, func() *http.Client { return client(t) }),
			"new":      startLoad(h.bytes, func() *http.Client { return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} }),
		}
		settle := func(what string) {
			t.Helper()
			h.both()
			for kind, l := range loads {
				for deadline, now := time.Now().Add(patience), l.sent.Load(); l.sent.Load() < now+40; time.Sleep(5 * time.Millisecond) {
					if time.Now().After(deadline) {
						t.Fatalf("%s: no requests by %s any more", what, kind)
					}
				}
				if l.failed.Load() > 0 {
					t.Fatalf("%s: %d requests by %s failed, the first with %s\n%s", what, l.failed.Load(), kind, *l.first.Load(), h.front.Log())
				}
			}
		}
		for _, s := range []struct {
			what    string
			objects []*api.Object
		}{
			{"permissive", []*api.Object{mtlsMesh(t, "PERMISSIVE"), h.by.trust()}},
			{"with identities", []*api.Object{heard("server", true, false), heard("front", true, false)}},
			{"with TLS", []*api.Object{heard("server", true, true)}},
			{"strict", []*api.Object{mtlsMesh(t, "STRICT")}},
			{"permissive again", []*api.Object{mtlsMesh(t, "PERMISSIVE")}},
			{"without TLS", []*api.Object{heard("server", true, false)}},
			{"off", []*api.Object{mtlsMesh(t, "")}},
		} {
			h.put(s.objects...)
			settle(s.what)
			switch n := h.handshakes(); s.what {
			case "permissive", "with identities":
				if n > 0 {
					t.Errorf("%s: %d handshakes", s.what, n)
				}
			case "with TLS":
				h.front.Until("calls by TLS", func() bool { return h.handshakes() > 0 })
			case "strict":
				h.back.Until("takes no plain text", func() bool {
					resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", h.inWeb))
					if err == nil {
						_ = resp.Body.Close()
					}
					return err != nil
				})
				settle("strict for a while")
			}
		}
		if _, _, err := fetch(client(t), h.inWeb); err != nil {
			t.Errorf("in the end the server takes no plain text: %v", err)
		}
		for kind, l := range loads {
			t.Logf("%s: %d requests", kind, l.sent.Load())
			l.end(t, 100)
		}
	})
}

// TestThreeChains: an inbound that takes plain text too answers callers in plain text, callers
// that speak TLS with the workload, and callers of the mesh, each in a chain of its own; and
// nobody forges who called (spec/identity.md 8, case 32; threat I11).
func TestThreeChains(t *testing.T) {
	t.Parallel()
	h := startHop(t, syncstatus.Delta, either(t))
	h.put(mtlsMesh(t, "PERMISSIVE"), h.by.trust(), heard("server", true, true), heard("front", true, false))
	h.both()
	forged := http.Header{"X-Forwarded-Client-Cert": {"URI=spiffe://default/forged"}}
	ownTLS := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	t.Cleanup(ownTLS.CloseIdleConnections)
	for _, q := range []struct {
		what, url, want string
		client          *http.Client
		tcp             bool
	}{
		{"plain", fmt.Sprintf("http://127.0.0.1:%d/", h.inWeb), `tls false xfcc ""`, client(t), false},
		{"own", fmt.Sprintf("https://127.0.0.1:%d/", h.inWeb), `tls true xfcc "URI=spiffe://default/forged"`, ownTLS, false},
		{"mesh", fmt.Sprintf("http://127.0.0.1:%d/", h.web), `URI=spiffe://default/front`, client(t), false},
		{"plain bytes", fmt.Sprintf("http://127.0.0.1:%d/", h.inBytes), `tls false xfcc "URI=spiffe://default/forged"`, client(t), true},
		{"own bytes", fmt.Sprintf("https://127.0.0.1:%d/", h.inBytes), `tls true`, ownTLS, true},
		{"mesh bytes", fmt.Sprintf("http://127.0.0.1:%d/", h.bytes), `tls false`, client(t), true},
	} {
		got, err := body(q.client, q.url, forged)
		if err != nil || !strings.Contains(got, q.want) || q.what == "mesh" && strings.Contains(got, "forged") {
			t.Errorf("%s: %q, %v; want %s", q.what, got, err, q.want)
		}
	}
	if n := h.handshakes(); n == 0 {
		t.Error("the mesh called in plain text")
	}
	dump := h.back.Dump()
	for _, chain := range []string{`"plain"`, `"mtls"`, `"own"`} {
		if !strings.Contains(dump, chain) {
			t.Errorf("the server has no chain %s", chain)
		}
	}
}

// TestNoPlaintextToStrict: nothing goes in plain text to an inbound that takes none, whatever
// is not known, and whatever never comes (spec/identity.md 0, F15; threat I8).
func TestNoPlaintextToStrict(t *testing.T) {
	t.Parallel()
	for what, prepare := range map[string]func(*hop){
		"no word of the server": func(h *hop) { h.put(mtlsMesh(t, "STRICT"), h.by.trust(), heard("front", true, false)) },
		"no certificate": func(h *hop) {
			h.by.mute["front"] = true
			h.put(mtlsMesh(t, "STRICT"), h.by.trust(), heard("front", true, false), heard("server", true, true))
		},
		"nobody is trusted": func(h *hop) { h.put(mtlsMesh(t, "STRICT"), heard("front", true, false), heard("server", true, true)) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			wire := recorder(t)
			h := startHop(t, syncstatus.Delta, 9)
			h.by.t = t
			h.apply(fmt.Sprintf(`{type: Dataplane, mesh: default, name: server, networking: {address: 127.0.0.1, inbound: [
  {name: web, port: %d, tags: {kuma.io/service: web, app: web, kuma.io/protocol: http}}]}}`, wire.port))
			prepare(h)
			h.synced("front")
			status, _, err := fetch(client(t), h.web)
			if err != nil || status != http.StatusServiceUnavailable {
				t.Errorf("status %d, %v", status, err)
			}
			if got := wire.seen(); strings.Contains(got, "HTTP") || strings.Contains(got, "PRI") {
				t.Errorf("on the wire there is %q", got)
			}
		})
	}
}

// TestConnectionsOutliveMutualTLS: a connection by mutual TLS goes on as it was when that is taken
// back, until its sidecar has drained it: whoever was let in by it still is.
func TestConnectionsOutliveMutualTLS(t *testing.T) {
	t.Parallel()
	r := startRuled(t, everybodyIn)
	r.expect("with mutual TLS", "ops GET /", 200, nil)
	r.put(mtlsMesh(t, ""))
	r.synced("server")
	r.server.Until("takes plain text", func() bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", r.in))
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	if got := r.ask("ops GET /"); got != 200 {
		t.Errorf("on a connection of before: %d", got)
	}
}
