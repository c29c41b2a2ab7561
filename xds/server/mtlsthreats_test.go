package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/authority/workload"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// another is a root of a domain that nobody has heard of.
func another(t *testing.T, domain string) *workload.Signer {
	t.Helper()
	root, err := workload.NewRoot(domain, false, workload.RootLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// believed is the MeshTrust of roots in a domain.
func believed(name, domain string, roots ...*workload.Signer) *api.Object {
	spec := &api.MeshTrust{TrustDomain: domain}
	for _, r := range roots {
		text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw}))
		spec.CABundles = append(spec.CABundles, api.CABundle{Type: "Pem", PEM: &api.PEMBundle{Value: text}})
	}
	return &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: name}, Spec: spec}
}

// strictOf is a hop whose sidecars have leaves of other roots, under names of their own.
func strictOf(t *testing.T, of map[string]*workload.Signer, as map[string][]string, more ...*api.Object) (h *hop, app *envoytest.Backend) {
	t.Helper()
	app = envoytest.StartBackend(t, "app")
	h = startHop(t, syncstatus.Delta, app.Port)
	h.by.of, h.by.as = of, as
	h.put(append([]*api.Object{mtlsMesh(t, "STRICT"), h.by.trust(), heard("server", true, true), heard("front", true, false)}, more...)...)
	h.both()
	return h, app
}

// TestRogueServersAreRefused (threat I5): who answers in the place of a destination, by a leaf of
// another root for its name, or by one of a federated domain that has its name too, hears nothing.
func TestRogueServersAreRefused(t *testing.T) {
	t.Parallel()
	b := another(t, "b.mesh")
	for what, names := range map[string][]string{"its name": {"spiffe://default/web"}, "two names": {"spiffe://b.mesh/web", "spiffe://default/web"}, "two names, its first": {"spiffe://default/web", "spiffe://b.mesh/web"}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h, app := strictOf(t, map[string]*workload.Signer{"server": b}, map[string][]string{"server": names}, believed("b", "b.mesh", b))
			c := client(t)
			for range 3 {
				req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", h.web), nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set(envoytest.IDHeader, "rogue")
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				text, err := io.ReadAll(resp.Body)
				if resp.Body.Close(); err != nil || resp.StatusCode != http.StatusServiceUnavailable {
					t.Errorf("status %d: %s %v", resp.StatusCode, text, err)
				}
			}
			if seen := app.Seen("rogue"); len(seen) > 0 {
				t.Errorf("it heard %+v", seen)
			}
			refused := 0
			for name, n := range h.front.Stats("cluster.web_8") {
				if strings.HasSuffix(name, ".ssl.fail_verify_error") || strings.HasSuffix(name, ".ssl.fail_verify_san") {
					refused += n
				}
			}
			if refused == 0 {
				t.Error("it was not for its certificate")
			}
		})
	}
}

// TestTrustComesBeforeCertificates (spec/identity.md 0, F7): what the order of a rotation is for. A
// leaf of a root that the other end does not trust yet, or trusts no more, makes each new
// connection fail; with both trusted all of them succeed.
func TestTrustComesBeforeCertificates(t *testing.T) {
	t.Parallel()
	next := another(t, "default")
	h, _ := strictOf(t, map[string]*workload.Signer{"front": next}, map[string][]string{})
	comes := func(what string, roots []*workload.Signer, want int) {
		t.Helper()
		h.put(believed("own", "default", roots...))
		h.both()
		h.front.Until(what, func() bool {
			status, _, err := fetch(client(t), h.web)
			return err == nil && status == want
		})
	}
	comes("a certificate before trust", []*workload.Signer{h.by.by}, http.StatusServiceUnavailable)
	comes("trust in both", []*workload.Signer{h.by.by, next}, http.StatusOK)
	h.put(believed("own", "default", next)) // the other end has its leaf of the first root still
	h.both()
	if conn, err := h.dialAs(h.inBytes, &tls.Config{MaxVersion: tls.VersionTLS12}, "spiffe://default/front"); err == nil {
		_ = conn.Close()
		t.Error("a leaf of a root that is out is accepted")
	}
}

// TestAnExpiredCertificateIsNotResumed (threat I4): who was let in, and comes again by the session
// of before when his certificate has ended, is refused, by either version.
func TestAnExpiredCertificateIsNotResumed(t *testing.T) {
	t.Parallel()
	h := strictHop(t, envoytest.StartBackend(t, "app").Port)
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		h.by.life = 3 * time.Second
		short := h.by.leaf("spiffe://default/front")
		config := &tls.Config{MinVersion: version, MaxVersion: version, ClientSessionCache: tls.NewLRUClientSessionCache(8), ServerName: "again",
			InsecureSkipVerify: true, NextProtos: []string{"weft"}, Certificates: []tls.Certificate{short}}
		get := func() error {
			c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}, Timeout: patience}
			resp, err := c.Get(fmt.Sprintf("https://127.0.0.1:%d/", h.inWeb))
			if err == nil {
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			return err
		}
		if err := get(); err != nil {
			t.Fatalf("%x: before its end: %v", version, err)
		}
		leaf, err := x509.ParseCertificate(short.Certificate[0])
		if err != nil {
			t.Fatal(err)
		}
		for time.Now().Before(leaf.NotAfter.Add(time.Second)) { // certificates count in seconds
			if err := get(); err != nil && time.Now().Before(leaf.NotAfter) {
				t.Fatalf("%x: before its end: %v", version, err)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if get() == nil {
			t.Errorf("%x: it is let in after its end", version)
		}
	}
}

// TestServersOfferNoProtocol (spec/identity.md 0, F11): an inbound chooses none of the protocols
// that a client of the mesh offers in TLS, and so takes HTTP/2 for what it is.
func TestServersOfferNoProtocol(t *testing.T) {
	t.Parallel()
	h := strictHop(t, envoytest.StartBackend(t, "app").Port)
	for _, port := range []uint32{h.inWeb, h.inBytes} {
		c, err := h.dialAs(port, &tls.Config{}, "spiffe://default/front")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got := c.ConnectionState().NegotiatedProtocol; got != "" {
			t.Errorf("port %d chooses %q", port, got)
		}
		if port == h.inBytes {
			continue
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
			t.Fatal(err)
		}
		frame := make([]byte, 9)
		if _, err := io.ReadFull(c, frame); err != nil || frame[3] != 4 {
			t.Errorf("HTTP/2 is answered by %q, %v; want SETTINGS", frame, err)
		}
	}
}

// TestARefusedCertificateIsRepeatedByTLS12Alone (spec/identity.md 0, F5): the server refuses the
// certificate of a client. By TLS 1.2, at which weft's clients stop, it says so in the handshake,
// before the request is out: that counts as a failed connection, and a policy for those repeats
// it. By TLS 1.3, which a MeshTLS may ask for, the request is out by then, and is not repeated.
func TestARefusedCertificateIsRepeatedByTLS12Alone(t *testing.T) {
	t.Parallel()
	for max, want := range map[string]int{"TLS12": 2, "TLS13": 0} {
		t.Run(max, func(t *testing.T) {
			t.Parallel()
			h, _ := strictOf(t, map[string]*workload.Signer{"front": another(t, "default")}, map[string][]string{})
			h.put(h.objects(`{type: MeshRetry, mesh: default, name: again, spec: {to: [{targetRef: {kind: Mesh}, default: {http: {numRetries: 2, backOff: {baseInterval: 1ms}, retryOn: [ConnectFailure]}}}]}}`,
				`{type: MeshTLS, mesh: default, name: versions, spec: {rules: [{default: {tlsVersion: {max: `+max+`}}}]}}`)...)
			h.both()
			if status, _, err := fetch(client(t), h.web); err != nil || status != http.StatusServiceUnavailable {
				t.Fatalf("status %d, %v", status, err)
			}
			repeated, failed := 0, 0
			for name, n := range h.front.Stats("cluster.web_8") {
				switch {
				case strings.HasSuffix(name, ".upstream_rq_retry"):
					repeated += n
				case strings.HasSuffix(name, ".upstream_cx_connect_fail"):
					failed += n
				}
			}
			if repeated != want || (failed > 0) != (want > 0) {
				t.Errorf("repeated %d times, want %d; %d connections failed", repeated, want, failed)
			}
		})
	}
}

// TestClientsOfAnEdgeForgeNobody (threat I11): what a client outside the mesh says of who called
// goes no further than the edge.
func TestClientsOfAnEdgeForgeNobody(t *testing.T) {
	t.Parallel()
	port, app := envoytest.Port(t), envoytest.StartBackend(t, "app")
	p := serve(t, nil, fmt.Sprintf(`{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN}}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: shop}, spec: {gatewayClassName: weft, listeners: [{name: web, port: %d, protocol: HTTP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{name: public}], rules: [{backendRefs: [{name: app, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: app, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: app-1, namespace: shop, labels: {kubernetes.io/service-name: app}}, addressType: IPv4, ports: [{port: %d}], endpoints: [{addresses: [127.0.0.1]}]}
`, port, app.Port))
	p.envoy("edge", syncstatus.Delta)
	p.synced("edge")
	req, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", port), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(envoytest.IDHeader, "forged")
	req.Header.Set("X-Forwarded-Client-Cert", "By=spiffe://default/app;URI=spiffe://default/ops")
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if seen := app.Seen("forged"); resp.StatusCode != http.StatusOK || len(seen) != 1 || seen[0].Headers.Get("X-Forwarded-Client-Cert") != "" {
		t.Errorf("status %d, the workload saw %+v", resp.StatusCode, seen)
	}
}
