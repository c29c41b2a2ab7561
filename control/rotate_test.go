package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
)

// authorities are those of mesh default, as the API has them.
func (p *plane) authorities() []mtls.Authority {
	p.t.Helper()
	var all mtls.Authorities
	if err := json.Unmarshal([]byte(p.want(http.StatusOK, http.MethodGet, "/meshes/default/_authorities", "")), &all); err != nil {
		p.t.Fatal(err)
	}
	return all.Items
}

// TestARootIsTurnedByHand (case 36, F7): people ask for another root while two sidecars call each
// other; every phase is seen, who asked is logged, and no request fails.
func TestARootIsTurnedByHand(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, log.logger(), func(c *control.Config) { c.RotationSpread = time.Hour })
	defer p.stop()
	for _, path := range []string{"rotate", "abort"} {
		if text := p.want(http.StatusNotFound, http.MethodPost, "/meshes/default/_authorities/"+path, "{}"); !strings.Contains(text, "enabledBackend") {
			t.Errorf("%s without an authority: %s", path, text)
		}
	}
	web, pay := p.pair(t)
	first := p.authorities()[0].Signs
	sent, failed, stop := load(t, web, pay)
	for _, w := range []string{`{"force":true}`, `{"spread":"x"}`, `{"identity":"none"}`} {
		if code, text := p.call(http.MethodPost, "/meshes/default/_authorities/rotate", w); code/100 != 4 {
			t.Errorf("%s: %d %s", w, code, text)
		}
	}
	if text := p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", `{"spread":"1s"}`); !strings.Contains(text, `"phase":"Trusting"`) {
		t.Errorf("begun: %s", text)
	}
	eventually(t, "all have leaves of the new root", func() bool {
		a := p.authorities()[0]
		return a.Phase == "Settling" && a.Signs != first && len(a.Roots) == 2 && a.Roots[0].Role == mtls.RootLeaving && a.Roots[1].Role == mtls.RootSigns && a.Roots[1].Certificates == 2 && a.WaitsFor != nil
	})
	before := sent.Load()
	eventually(t, "more requests", func() bool { return sent.Load() > before+50 })
	if stop(); failed.Load() > 0 {
		t.Errorf("%d of %d requests failed", failed.Load(), sent.Load())
	}
	text := p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/rotate", `{"force":true,"dryRun":true}`)
	if !strings.Contains(text, `"broken":{"count":0}`) {
		t.Errorf("by force: %s", text)
	}
	p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/abort", "{}")
	eventually(t, "the first root signs again", func() bool { return p.authorities()[0].Signs == first })
	if !strings.Contains(log.String(), "root of an authority") || strings.Contains(log.String(), "PRIVATE") {
		t.Error("the log does not say who asked")
	}
}

// pair are two workloads that call each other by mutual TLS, each with a real sidecar.
func (p *plane) pair(t *testing.T) (web, pay member) {
	t.Helper()
	web, pay = newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+fmt.Sprintf(mutual, "ca-1", builtin))
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	p.know(map[string]member{"web": web, "payments": pay})
	return web, pay
}

// load has members call until it is stopped.
func load(t *testing.T, members ...member) (sent, failed *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	sent, failed = new(atomic.Int64), new(atomic.Int64)
	var running sync.WaitGroup
	for _, m := range members {
		running.Go(func() {
			for ctx.Err() == nil {
				if sent.Add(1); requested(t.Context(), m.outbound) == "" {
					failed.Add(1)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	return sent, failed, func() { cancel(); running.Wait() }
}

// TestAnIdentityIsRevoked (I2, I4): who is revoked is refused at once, also on connections that are
// open, has no stream and gets no certificate, and nobody reaches it as a server (103); a request that runs ends;
// others go on.
func TestAnIdentityIsRevoked(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, log.logger())
	defer p.stop()
	web, pay := p.pair(t)
	other := newMember(t, "other-1", "other", "payments")
	p.want(http.StatusOK, http.MethodPost, "/_apply", other.document)
	p.sidecar("other-1", p.dataplaneToken("other-1", ""), discard())
	eventually(t, "other is known", func() bool { return isKnown(t.Context(), other.outbound, "other") })
	if text := p.want(http.StatusBadRequest, http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"web"}`); !strings.Contains(text, "spiffe://DOMAIN/PATH") {
		t.Error(text)
	}
	revoke := func(more string) string {
		return p.want(http.StatusOK, http.MethodPost, "/meshes/default/_authorities/revoke", `{"spiffeID":"spiffe://default/web"`+more+`}`)
	}
	if text := revoke(`,"dryRun":true`); !strings.Contains(text, `"dataplanes":1,"names":["web-1"]`) || requested(t.Context(), web.outbound) == "" {
		t.Errorf("asked only: %s", text)
	}
	streamed := make(chan error, 1)
	open := streams(t, web.outbound, streamed)
	if !strings.Contains(open, "URI=spiffe://default/web") {
		t.Fatalf("called in plain text: %s", open)
	}
	began := time.Now()
	revoke("")
	eventually(t, "it is refused", func() bool { return requested(t.Context(), web.outbound) == "" })
	eventually(t, "it has no stream", func() bool {
		return strings.Contains(log.String(), "is revoked by MeshTrafficPermission/default/revoked-identities-default")
	})
	select {
	case <-streamed:
	case <-time.After(time.Minute):
		t.Error("a request that ran goes on")
	}
	t.Logf("all of it ended after %v", time.Since(began).Round(time.Millisecond))
	if code, _, text := p.certify(p.dataplaneToken("web-1", ""), "web-1"); code != http.StatusForbidden || !strings.Contains(text, "revoked") {
		t.Errorf("a certificate: %d %s", code, text)
	}
	if requested(t.Context(), other.outbound) == "" {
		t.Error("somebody else is refused")
	}
	eventually(t, "nobody reaches it any more", func() bool { return requested(t.Context(), pay.outbound) == "" })
	if text := revoke(""); !strings.Contains(text, `"already":true`) {
		t.Errorf("again: %s", text)
	}
	p.want(http.StatusOK, http.MethodDelete, "/meshes/default/meshtrafficpermissions/revoked-identities-default", "")
	eventually(t, "it is back", func() bool { return requested(t.Context(), web.outbound) != "" })
	eventually(t, "it is called again", func() bool { return requested(t.Context(), pay.outbound) != "" })
}

// streams asks for an answer that does not end, says how it begins, and tells when it has ended.
func streams(t *testing.T, port uint32, ended chan<- error) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/forever", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	first := make([]byte, 1024)
	n, err := resp.Body.Read(first)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer resp.Body.Close()
		_, err := io.Copy(io.Discard, resp.Body)
		ended <- err
	}()
	return string(first[:n])
}
