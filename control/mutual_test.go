package control_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/inspect/mtls"
	"github.com/weftmesh/weft/internal/envoytest"
)

// member is a workload that says who called it, behind a sidecar.
type member struct {
	document string
	inbound  uint32 // of the sidecar
	outbound uint32 // where it calls the other
}

func newMember(t *testing.T, name, service, calls string) member {
	t.Helper()
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(20 * time.Millisecond) // so that requests at once need connections of their own
		fmt.Fprintf(w, "%s called by %s", service, r.Header.Get("X-Forwarded-Client-Cert"))
		for r.URL.Path == "/forever" {
			http.NewResponseController(w).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(50 * time.Millisecond):
				fmt.Fprint(w, ".")
			}
		}
	}))
	t.Cleanup(echo.Close)
	_, port, err := net.SplitHostPort(echo.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	m := member{inbound: envoytest.Port(t), outbound: envoytest.Port(t)}
	m.document = fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: 127.0.0.1\n  inbound: [{port: %d, servicePort: %s, tags: {kuma.io/service: %s, kuma.io/protocol: http}}]\n  outbound: [{port: %d, tags: {kuma.io/service: %s}}]\n---\n",
		name, m.inbound, port, service, m.outbound, calls)
	return m
}

// requested asks at a port of this host; empty where there is no good answer.
func requested(ctx context.Context, port uint32) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
	if err != nil {
		return ""
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}

// isKnown reports whether who calls by a port is known by a name to whoever answers there, on
// some connection: those in plain text of before stay open for a while (F8).
func isKnown(ctx context.Context, port uint32, who string) bool {
	var found atomic.Bool
	var asking sync.WaitGroup
	for range 16 {
		asking.Go(func() {
			if strings.Contains(requested(ctx, port), "URI=spiffe://default/"+who) {
				found.Store(true)
			}
		})
	}
	asking.Wait()
	return found.Load()
}

// know waits until members call each other by mutual TLS. Nobody calls before their sidecars know how:
// one connection in plain text would carry all requests of HTTP/2 for minutes.
func (p *plane) know(members map[string]member) {
	p.t.Helper()
	eventually(p.t, "all sidecars have certificates, and know it of each other", func() bool {
		return p.Reported("web-1") && p.Reported("pay-1") && p.InSync("web-1") && p.InSync("pay-1")
	})
	for who, m := range members {
		eventually(p.t, who+" is known", func() bool { return isKnown(p.t.Context(), m.outbound, who) })
	}
}

const allowed = "type: MeshTrafficPermission\nmesh: default\nname: all\nspec: {rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}]}}]}\n---\n"

// TestRootIsReplaced (case 36, F7): while two sidecars call each other another root takes over,
// trust before certificates, and no request fails; whether each has an agent that makes its key, or
// one is a kuma-dp, of which Envoy's acknowledgement says that it has another certificate.
func TestRootIsReplaced(t *testing.T) {
	t.Parallel()
	for name, starts := range map[string]func(p *plane, token string){
		"agents":  func(p *plane, token string) { p.sidecar("web-1", token, discard()) },
		"kuma-dp": func(p *plane, token string) { p.kumaDP("web-1", token) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rootIsReplaced(t, starts)
		})
	}
}

func rootIsReplaced(t *testing.T, starts func(p *plane, token string)) {
	t.Helper()
	p := secure(t, discard(), func(c *control.Config) { c.RotationSpread = time.Second })
	defer p.stop()
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+fmt.Sprintf(mutual, "ca-1", builtin))
	starts(p, p.dataplaneToken("web-1", ""))
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	p.know(map[string]member{"web": web, "payments": pay})
	_, first := p.Phase()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var sent, failed atomic.Int64
	for _, m := range []member{web, pay} {
		running.Go(func() {
			for ctx.Err() == nil {
				if sent.Add(1); requested(t.Context(), m.outbound) == "" {
					failed.Add(1)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-2", builtin+", {name: ca-2, type: builtin, mode: PERMISSIVE}"))
	var phases []string
	eventually(t, "all have leaves of the new root", func() bool {
		phase, _ := p.Phase()
		if len(phases) == 0 || phases[len(phases)-1] != phase {
			phases = append(phases, phase)
		}
		return phase == "Settling"
	})
	if _, signs := p.Phase(); signs == first {
		t.Error("the first root signs still")
	}
	before := sent.Load()
	eventually(t, "more requests", func() bool { return sent.Load() > before+50 })
	stop()
	running.Wait()
	t.Logf("%d of %d requests failed; phases %v", failed.Load(), sent.Load(), phases)
	if failed.Load() > 0 {
		t.Errorf("%d requests failed", failed.Load())
	}
	if len(p.trusted("mtls-default")) != 2 {
		t.Error("the first root is trusted no more, and its leaves have not ended")
	}
}

// TestARestartChangesNothing (case 37): sidecars that call each other by TLS alone go on while
// their control plane is away and after it has come back, and none is certified again.
func TestARestartChangesNothing(t *testing.T) {
	t.Parallel()
	address := envoytest.Address(t)
	var conf control.Config
	p := secure(t, discard(), func(c *control.Config) { c.XDS = address; conf = *c })
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	p.sidecar("web-1", p.dataplaneToken("web-1", ""), discard())
	p.sidecar("pay-1", p.dataplaneToken("pay-1", ""), discard())
	p.know(map[string]member{"web": web, "payments": pay})
	eventually(t, "both are told of", func() bool { return p.Reported("web-1") && p.Reported("pay-1") })
	certificates := func(p *plane) (out []*mtls.Certificate) {
		for _, d := range p.mtls().Items {
			out = append(out, d.Certificate)
		}
		return out
	}
	held := certificates(p)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var sent, failed atomic.Int64
	running.Go(func() {
		for ctx.Err() == nil {
			if sent.Add(1); !strings.Contains(requested(t.Context(), web.outbound), "URI=spiffe://default/web") {
				failed.Add(1)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	p.stop()
	var log journal
	conf.DataplaneAuth, conf.XDSPlaintext = "token", false
	again := startLogging(t, conf, slog.New(slog.NewTextHandler(&log, nil)))
	defer again.stop()
	eventually(t, "both are back", func() bool { return strings.Count(log.String(), "msg=connected") == 2 })
	if diff := cmp.Diff(held, certificates(again)); diff != "" {
		t.Errorf("certificates as they are known after the restart (-before +after):\n%s", diff)
	}
	before := sent.Load()
	eventually(t, "more requests", func() bool { return sent.Load() > before+50 })
	stop()
	running.Wait()
	t.Logf("%d of %d requests failed", failed.Load(), sent.Load())
	if failed.Load() > 0 {
		t.Errorf("%d requests failed", failed.Load())
	}
	if strings.Contains(log.String(), "msg=signed") {
		t.Error("a certificate was signed again")
	}
}
