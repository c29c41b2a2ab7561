package server_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// proving renders as weft does, and gives each sidecar that it has a name the certificate of
// that over ADS, as to one that cannot make its own key.
type proving struct {
	*xds.Renderer
	t    testing.TB
	by   *workload.Signer
	life time.Duration
	// mute are those whose certificate never comes.
	mute map[string]bool

	mu    sync.Mutex
	known map[string]*xds.Resource
}

func newProving(t testing.TB, kinds *xds.Renderer) *proving {
	t.Helper()
	root, err := workload.NewRoot("default", false, workload.RootLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &proving{Renderer: kinds, t: t, by: root, life: workload.LeafLife, mute: map[string]bool{}, known: map[string]*xds.Resource{}}
}

func (p *proving) Render(r *resolve.Resolved) *xds.State {
	s := p.Renderer.Render(r)
	if len(r.Trust) > 0 && !p.mute[r.Ref.Name] {
		s.Secrets = append([]*xds.Resource{p.secret(r.Identity.Names)}, s.Secrets...) // by its name the first
	}
	return s
}

// leaf is a certificate with its key.
func (p *proving) leaf(names ...string) tls.Certificate {
	by, err := p.by.Intermediate(time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	key, err := workload.NewKey()
	if err != nil {
		p.t.Fatal(err)
	}
	chain, err := by.Leaf(names, &key.PublicKey, p.life, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	out := tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

func (p *proving) secret(names []string) *xds.Resource {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := strings.Join(names, " ")
	if r := p.known[name]; r != nil {
		return r
	}
	leaf := p.leaf(names...)
	var chain []byte
	for _, c := range leaf.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	key, err := x509.MarshalPKCS8PrivateKey(leaf.PrivateKey)
	if err != nil {
		p.t.Fatal(err)
	}
	text := func(b []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: b}}
	}
	secret := xds.IdentitySecret("default")
	r := &xds.Resource{Name: secret, Type: xds.SecretType, Version: fmt.Sprint(len(p.known)), Any: xds.Pack(&tlsv3.Secret{Name: secret, Type: &tlsv3.Secret_TlsCertificate{
		TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: text(chain), PrivateKey: text(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))}}})}
	p.known[name] = r
	return r
}

// trust is the MeshTrust of its root.
func (p *proving) trust() *api.Object {
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.by.Certificate().Raw}))
	return &api.Object{Ref: api.Ref{Kind: api.KindMeshTrust, Mesh: "default", Name: "own"}, Spec: &api.MeshTrust{
		TrustDomain: "default", CABundles: []api.CABundle{{Type: "Pem", PEM: &api.PEMBundle{Value: text}}}}}
}

// put publishes objects.
func (p *plane) put(objects ...*api.Object) {
	p.t.Helper()
	var changes []api.Change
	for _, o := range objects {
		before, _ := p.snapshot.Get(o.Ref)
		changes = append(changes, api.Change{Before: before, After: o})
	}
	affected := p.step(changes)
	p.Publish(p.model, affected)
}

// mtlsMesh is the Mesh in a mode, empty for none: decoding still refuses it.
func mtlsMesh(t testing.TB, mode string) *api.Object {
	t.Helper()
	spec := &api.Mesh{}
	text := `{"meshServices":{"mode":"Exclusive"}}`
	if mode != "" {
		text = `{"meshServices":{"mode":"Exclusive"},"mtls":{"enabledBackend":"ca","backends":[{"name":"ca","type":"builtin","mode":"` + mode + `"}]}}`
	}
	if err := json.Unmarshal([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return &api.Object{Ref: api.Ref{Kind: api.KindMesh, Name: "default"}, Spec: spec}
}

// heard is what the control plane has heard of a sidecar.
func heard(name string, identity, tls bool) *api.Object {
	return &api.Object{Ref: api.InsightRef(dataplaneRef(name)), Spec: &api.DataplaneInsight{Identity: identity, TLS: tls, OverADS: true}}
}

// hop are two sidecars, and a workload behind the second one that the first one calls.
type hop struct {
	*plane
	by             *proving
	web, bytes     uint32 // where the first one listens
	inWeb, inBytes uint32 // where the second one does
	front, back    *envoytest.Envoy
}

func startHop(t *testing.T, form string, app uint32) *hop {
	t.Helper()
	h := &hop{web: envoytest.Port(t), bytes: envoytest.Port(t), inWeb: envoytest.Port(t), inBytes: envoytest.Port(t)}
	h.plane = serve(t, func(o *server.Options) {
		h.by = newProving(t, o.Renderer.(*xds.Renderer))
		o.Renderer = h.by
	}, exclusive, fmt.Sprintf(`{type: MeshService, mesh: default, name: web, spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: web, appProtocol: http}, {port: 81, targetPort: bytes, appProtocol: tcp}]}}
---
{type: Dataplane, mesh: default, name: server, networking: {address: 127.0.0.1, inbound: [
  {name: web, port: %[1]d, serviceAddress: 127.0.0.1, servicePort: %[3]d, tags: {kuma.io/service: web, app: web, kuma.io/protocol: http}},
  {name: bytes, port: %[2]d, serviceAddress: 127.0.0.1, servicePort: %[3]d, tags: {kuma.io/service: web-bytes, app: web, kuma.io/protocol: tcp}}]}}
---
{type: Dataplane, mesh: default, name: front, networking: {address: 127.0.0.1, inbound: [{port: %[6]d, tags: {kuma.io/service: front}}], outbound: [
  {address: 127.0.0.1, port: %[4]d, backendRef: {kind: MeshService, name: web, port: 80}}, {address: 127.0.0.1, port: %[5]d, backendRef: {kind: MeshService, name: web, port: 81}}]}}
`, h.inWeb, h.inBytes, app, h.web, h.bytes, envoytest.Port(t)))
	h.back, h.front = h.envoy("server", form), h.envoy("front", form)
	h.both()
	return h
}

// both waits until both sidecars have what was published.
func (h *hop) both() {
	h.t.Helper()
	h.synced("server")
	h.synced("front")
}

// handshakes are those that the first sidecar has made with inbounds of the second.
func (h *hop) handshakes() int {
	sum := 0
	for name, n := range h.front.Stats("cluster.web_8") {
		if strings.HasSuffix(name, ".ssl.handshake") {
			sum += n
		}
	}
	return sum
}

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

// client2 speaks HTTP/2 in plain text.
func client2(t *testing.T) *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// either answers in plain text and by its own TLS at one port.
func either(t *testing.T) uint32 {
	t.Helper()
	pair := certs.New(t, "own.example")
	own, err := tls.X509KeyPair(pair.Chain, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := &queue{l: l, next: make(chan net.Conn), config: &tls.Config{Certificates: []tls.Certificate{own}}}
	go conns.serve()
	s := &httptest.Server{Listener: conns, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "tls %v xfcc %q", r.TLS != nil, r.Header.Get("X-Forwarded-Client-Cert"))
	})}}
	s.Start()
	t.Cleanup(s.Close)
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// queue is a listener that looks at the first byte of each connection.
type queue struct {
	l      net.Listener
	next   chan net.Conn
	config *tls.Config
}

// looked is a connection whose first byte was looked at.
type looked struct {
	net.Conn
	r *bufio.Reader
}

func (c *looked) Read(b []byte) (int, error) { return c.r.Read(b) }

func (q *queue) serve() {
	for {
		conn, err := q.l.Accept()
		if err != nil {
			close(q.next)
			return
		}
		go func() {
			c := &looked{conn, bufio.NewReader(conn)}
			first, err := c.r.Peek(1)
			switch {
			case err != nil:
				_ = conn.Close()
			case first[0] == 22:
				q.next <- tls.Server(c, q.config)
			default:
				q.next <- c
			}
		}()
	}
}

func (q *queue) Accept() (net.Conn, error) {
	if c, ok := <-q.next; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (q *queue) Close() error   { return q.l.Close() }
func (q *queue) Addr() net.Addr { return q.l.Addr() }

// body is what a client gets at a port.
func body(c *http.Client, url string, header http.Header) (string, error) {
	q, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	q.Header = header
	resp, err := c.Do(q)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), errors.Join(err)
}

// TestThreeChains: an inbound that takes plain text too answers callers in plain text, callers
// that speak TLS with the workload, and callers of the mesh, each in a chain of its own; and
// nobody forges who called (spec/identity.md 8, case 32; threat I11).
func TestThreeChains(t *testing.T) {
	t.Parallel()
	h := startHop(t, server.Delta, either(t))
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
			h := startHop(t, server.Delta, 9)
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

// wire is a server that answers nothing, and knows what it got.
type wire struct {
	port uint32
	mu   sync.Mutex
	got  []byte
}

func (w *wire) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.got)
}

func recorder(t *testing.T) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{port: uint32(l.Addr().(*net.TCPAddr).Port)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				b := make([]byte, 4096)
				n, _ := c.Read(b) // what came is what counts
				w.mu.Lock()
				w.got = append(w.got, b[:n]...)
				w.mu.Unlock()
			}()
		}
	}()
	return w
}
