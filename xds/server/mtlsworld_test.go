package server_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
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
	// as are the names that others show than they should.
	as map[string][]string
	// of are the roots of those whose leaves are of another one.
	of map[string]*workload.Signer

	mu    sync.Mutex
	known map[string]*resource.Resource
}

func newProving(t testing.TB, kinds *xds.Renderer) *proving {
	t.Helper()
	root, err := workload.NewRoot("default", false, workload.RootLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return &proving{Renderer: kinds, t: t, by: root, life: workload.CertificateLife, mute: map[string]bool{}, as: map[string][]string{}, known: map[string]*resource.Resource{}}
}

func (p *proving) Render(r *effective.Resolved) *resource.State {
	s := p.Renderer.Render(r)
	if len(r.Trust) > 0 && !p.mute[r.Ref.Name] {
		names := r.Identity.Names
		if p.as[r.Ref.Name] != nil {
			names = p.as[r.Ref.Name]
		}
		by := p.by
		if other := p.of[r.Ref.Name]; other != nil {
			by = other
		}
		s.Secrets = append([]*resource.Resource{p.secret(by, names)}, s.Secrets...) // by its name the first
	}
	return s
}

// leaf is a certificate with its key.
func (p *proving) leaf(names ...string) tls.Certificate { return p.leafOf(p.by, names...) }

func (p *proving) leafOf(root *workload.Signer, names ...string) tls.Certificate {
	by, err := root.Intermediate(time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	key, err := workload.NewKey()
	if err != nil {
		p.t.Fatal(err)
	}
	chain, err := by.Issue(names, &key.PublicKey, p.life, time.Now())
	if err != nil {
		p.t.Fatal(err)
	}
	out := tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

func (p *proving) secret(root *workload.Signer, names []string) *resource.Resource {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := workload.Fingerprint(root.Certificate()) + strings.Join(names, " ")
	if r := p.known[name]; r != nil {
		return r
	}
	leaf := p.leafOf(root, names...)
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
	secret := naming.IdentitySecret("default")
	r := (&resource.Resource{Name: secret, Type: resource.SecretType, Version: fmt.Sprint(len(p.known))}).With(envoy.Pack(&tlsv3.Secret{Name: secret, Type: &tlsv3.Secret_TlsCertificate{
		TlsCertificate: &tlsv3.TlsCertificate{CertificateChain: text(chain), PrivateKey: text(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))}}}))
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
	var changes []snapshot.Change
	for _, o := range objects {
		before, _ := p.snapshot.Get(o.Ref)
		changes = append(changes, snapshot.Change{Before: before, After: o})
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
`, h.inWeb, h.inBytes, app, h.web, h.bytes, envoytest.Port(t)), everybodyIn)
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

// client2 speaks HTTP/2 in plain text.
func client2(t *testing.T) *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	c := &http.Client{Transport: &http.Transport{Protocols: &protocols}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}
