package server_test

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptest"
	"testing"

	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// serverNames are a Gateway whose listeners share a port in every way that they can, one
// for whole connections at another port, the edge dataplane that serves it, and a sidecar
// that calls a Service with TLSRoutes.
func serverNames(secure, bytes, called, sealed, plain uint32) string {
	return fmt.Sprintf(`{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: shop, gateway.networking.k8s.io/gateway-name: public}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN}}}
---
{type: Dataplane, mesh: default, name: client, labels: {k8s.kuma.io/namespace: shop}, networking: {address: 127.0.0.1, outbound: [{port: %[3]d, backendRef: {kind: MeshService, name: tenants, port: 443}}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: Gateway, metadata: {name: public, namespace: shop}, spec: {gatewayClassName: weft, listeners: [
  {name: web, port: %[1]d, protocol: HTTPS, hostname: "*.example.org", tls: {certificateRefs: [{name: web}]}},
  {name: pass, port: %[1]d, protocol: TLS, hostname: "*.pass.example.org", tls: {mode: Passthrough}},
  {name: ended, port: %[1]d, protocol: TLS, hostname: ended.example.org, tls: {mode: Terminate, certificateRefs: [{name: ended}]}},
  {name: bytes, port: %[2]d, protocol: TCP}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: web, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: web}], rules: [{backendRefs: [{name: plain, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: pass, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: pass}], hostnames: [a.pass.example.org, "*.b.pass.example.org"], rules: [{backendRefs: [{name: sealed, port: 443}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: ended, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: ended}], hostnames: [ended.example.org], rules: [{backendRefs: [{name: plain, port: 80}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TCPRoute, metadata: {name: bytes, namespace: shop}, spec: {parentRefs: [{name: public, sectionName: bytes}], rules: [{backendRefs: [{name: sealed, port: 443}]}]}}
---
{apiVersion: gateway.networking.k8s.io/v1, kind: TLSRoute, metadata: {name: tenants, namespace: shop}, spec: {parentRefs: [{group: "", kind: Service, name: tenants}], hostnames: ["*.tenants.test", one.tenants.test], rules: [{backendRefs: [{name: sealed, port: 443}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: tenants, namespace: shop}, spec: {ports: [{port: 443}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: sealed, namespace: shop}, spec: {ports: [{port: 443}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: sealed-1, namespace: shop, labels: {kubernetes.io/service-name: sealed}}, addressType: IPv4, ports: [{port: %[4]d}], endpoints: [{addresses: [127.0.0.1]}]}
---
{apiVersion: v1, kind: Service, metadata: {name: plain, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: plain-1, namespace: shop, labels: {kubernetes.io/service-name: plain}}, addressType: IPv4, ports: [{port: %[5]d}], endpoints: [{addresses: [127.0.0.1]}]}
`, secure, bytes, called, sealed, plain)
}

// sealedBackend is a backend that speaks TLS itself, and its certificate.
func sealedBackend(t *testing.T) (uint32, *certs.Pair) {
	t.Helper()
	pair := certs.New(t, "sealed.example.org")
	own, err := tls.X509KeyPair(pair.Chain, pair.Key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(envoytest.StartBackend(t, "sealed"))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return uint32(s.Listener.Addr().(*net.TCPAddr).Port), pair
}

// TestEnvoyGoesByServerNames: connections go to the backend of the name for which their
// client asks in TLS, with their TLS where nobody ends it, and are closed where no route has
// the name; listeners for HTTPS keep theirs. The simulator says the same.
func TestEnvoyGoesByServerNames(t *testing.T) {
	t.Parallel()
	secure, bytes, called := envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)
	sealed, shown := sealedBackend(t)
	web, ended := certs.New(t, "*.example.org"), certs.New(t, "ended.example.org")
	p := serve(t, nil, serverNames(secure, bytes, called, sealed, envoytest.StartBackend(t, "plain").Port), web.Secret("shop", "web"), ended.Secret("shop", "ended"))
	p.envoy("edge", "delta")
	p.envoy("client", "delta")
	p.synced("edge")
	p.synced("client")
	for _, q := range []struct {
		from      string
		port      uint32
		sni, host string
		pair      *certs.Pair // nil: the connection is closed
		by        string
		status    int
	}{
		{"edge", secure, "a.pass.example.org", "x.test", shown, "sealed", 200}, {"edge", secure, "A.Pass.example.org", "x.test", shown, "sealed", 200},
		{"edge", secure, "x.y.b.pass.example.org", "x.test", shown, "sealed", 200}, {"edge", secure, "other.pass.example.org", "x.test", nil, "", 0}, {"edge", secure, "b.pass.example.org", "x.test", nil, "", 0},
		{"edge", secure, "ended.example.org", "x.test", ended, "plain", 200}, {"edge", secure, "web.example.org", "web.example.org", web, "plain", 200},
		{"edge", secure, "web.example.org", "a.pass.example.org", web, "", 421}, {"edge", secure, "x.test", "x.test", nil, "", 0}, {"edge", secure, "", "x.test", nil, "", 0},
		{"edge", bytes, "any.test", "x.test", shown, "sealed", 200}, {"edge", bytes, "", "x.test", shown, "sealed", 200},
		{"client", called, "one.tenants.test", "x.test", shown, "sealed", 200}, {"client", called, "two.three.tenants.test", "x.test", shown, "sealed", 200},
		{"client", called, "tenants.test", "x.test", nil, "", 0}, {"client", called, "", "x.test", nil, "", 0},
	} {
		got, err := envoytest.AskTLS(q.port, q.sni, q.host, "/", 0)
		switch {
		case q.pair == nil && err == nil:
			t.Errorf("%s %s: %+v, want the connection closed", q.from, q.sni, got)
		case q.pair != nil && (err != nil || got.Status != q.status || got.From != q.by || !got.Leaf.Equal(q.pair.Leaf)):
			t.Errorf("%s %s, then %s: %+v, %v", q.from, q.sni, q.host, got, err)
		}
		url := fmt.Sprintf("https://127.0.0.1:%d/", q.port)
		v, err := sim.Run(p.model, dataplaneRef(q.from), wire.Request{URL: url, SNI: q.sni, Headers: wire.Headers{"host": q.host}})
		if err != nil {
			t.Fatal(err)
		}
		b := v.Branches[0]
		switch {
		case q.pair == nil && b.Outcome != sim.Close, q.by != "" && (b.Outcome != sim.Forward || b.Backends[0].Name != q.by), q.status > 200 && b.Status != uint32(q.status):
			t.Errorf("%s %s, then %s: the simulator says %+v", q.from, q.sni, q.host, b)
		}
	}
}
