package server_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// virtualHosts are HTTPProxies with certificates of their own, one of them lent by another
// namespace and one that may not be used, one without, and an edge dataplane at two ports.
func virtualHosts(plain, secure, backend uint32) string {
	return fmt.Sprintf(`{type: Mesh, name: default, tenancy: {edges: [infra]}}
---
{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: infra}, networking: {address: 127.0.0.1, gateway: {type: BUILTIN, listeners: [{port: %[1]d}, {port: %[2]d, protocol: https, hostname: "*.example.org", tls: {secret: listener}}]}}}
---
{apiVersion: projectcontour.io/v1, kind: TLSCertificateDelegation, metadata: {name: lent, namespace: lent}, spec: {delegations: [{secretName: lent, targetNamespaces: ["*"]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: own, namespace: shop}, spec: {virtualhost: {fqdn: own.example.org, tls: {secretName: own, minimumProtocolVersion: "1.3"}}, routes: [{services: [{name: v1, port: 80}]}, {conditions: [{prefix: /open}], permitInsecure: true, services: [{name: v1, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: lent, namespace: shop}, spec: {virtualhost: {fqdn: lent.example.org, tls: {secretName: lent/lent}}, routes: [{services: [{name: v1, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: kept, namespace: shop}, spec: {virtualhost: {fqdn: kept.example.org, tls: {secretName: lent/kept}}, routes: [{services: [{name: v1, port: 80}]}]}}
---
{apiVersion: projectcontour.io/v1, kind: HTTPProxy, metadata: {name: plain, namespace: shop}, spec: {virtualhost: {fqdn: plain.example.org}, routes: [{services: [{name: v1, port: 80}]}]}}
---
{apiVersion: v1, kind: Service, metadata: {name: v1, namespace: shop}, spec: {ports: [{port: 80, appProtocol: http}]}}
---
{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: v1-1, namespace: shop, labels: {kubernetes.io/service-name: v1}}, addressType: IPv4, ports: [{port: %[3]d}], endpoints: [{addresses: [127.0.0.1]}]}
`, plain, secure, backend)
}

// TestEnvoyServesVirtualHostsOverTLS: each HTTPProxy shows its own certificate, what asks
// for it in plaintext is sent to TLS unless a route permits it, and what may not show a
// certificate is not served (spec/httpproxy.md 1).
func TestEnvoyServesVirtualHostsOverTLS(t *testing.T) {
	t.Parallel()
	plain, secure, v1 := envoytest.Port(t), envoytest.Port(t), envoytest.StartBackend(t, "v1")
	own, lent, kept, listener := certs.New(t, "own.example.org"), certs.New(t, "lent.example.org"), certs.New(t, "kept.example.org"), certs.New(t, "*.example.org")
	p := serve(t, nil, virtualHosts(plain, secure, v1.Port), own.Secret("shop", "own"), lent.Secret("lent", "lent"), kept.Secret("lent", "kept"), listener.Secret("infra", "listener"))
	p.envoy("edge", "delta")
	p.synced("edge")
	simulated := func(url, host string) int {
		v, err := sim.Run(p.model, dataplaneRef("edge"), wire.Request{URL: url, Headers: wire.Headers{"host": host}})
		if err != nil {
			t.Fatal(err)
		}
		return answered(v)
	}
	for _, q := range []struct {
		sni, host, path string
		pair            *certs.Pair
		want            int
	}{
		{"own.example.org", "own.example.org", "/", own, 200}, {"own.example.org", "own.example.org", "/open", own, 200}, {"lent.example.org", "lent.example.org", "/", lent, 200},
		{"own.example.org", "lent.example.org", "/", own, 421}, {"own.example.org", "plain.example.org", "/", own, 421}, {"own.example.org", "x.test", "/", own, 421},
		{"plain.example.org", "plain.example.org", "/", listener, 200}, {"plain.example.org", "own.example.org", "/", listener, 421}, {"kept.example.org", "kept.example.org", "/", listener, 404},
	} {
		got, err := envoytest.AskTLS(secure, q.sni, q.host, q.path, 0)
		if err != nil || got.Status != q.want || !got.Leaf.Equal(q.pair.Leaf) {
			t.Errorf("%s, then %s%s: %+v, %v", q.sni, q.host, q.path, got, err)
		}
		if says := simulated(fmt.Sprintf("https://%s:%d%s", q.sni, secure, q.path), q.host); says != q.want {
			t.Errorf("%s, then %s%s: the simulator says %d", q.sni, q.host, q.path, says)
		}
	}
	if got, err := envoytest.AskTLS(secure, "own.example.org", "own.example.org", "/", tls.VersionTLS12); err == nil {
		t.Errorf("TLS 1.2: %+v", got)
	}
	if got, err := envoytest.AskTLS(secure, "lent.example.org", "lent.example.org", "/", tls.VersionTLS12); err != nil || got.Status != 200 {
		t.Errorf("TLS 1.2 where it is spoken: %+v, %v", got, err)
	}
	c := client(t)
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for _, q := range []struct {
		host, path string
		want       int
		location   string
	}{
		{"own.example.org", "/x?y=1", 301, "https://own.example.org/x?y=1"}, {"own.example.org", "/open", 200, ""}, {"lent.example.org", "/", 301, "https://lent.example.org/"},
		{"plain.example.org", "/", 200, ""}, {"kept.example.org", "/", 404, ""},
	} {
		r, err := http.NewRequest(http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", plain, q.path), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = q.host
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != q.want || resp.Header.Get("Location") != q.location {
			t.Errorf("%s%s in plaintext: %d %s, want %d %s", q.host, q.path, resp.StatusCode, resp.Header.Get("Location"), q.want, q.location)
		}
		if says := simulated(fmt.Sprintf("http://%s:%d%s", q.host, plain, q.path), q.host); says != q.want {
			t.Errorf("%s%s in plaintext: the simulator says %d", q.host, q.path, says)
		}
	}
}

// TestEnvoyShowsNoCertificateOfAnotherNamespace: an edge dataplane finishes no handshake with the
// certificate of another namespace's host, whether its routes may name it or TLSCertificateDelegation
// lends it, in neither mode of hosts: who runs the edge would have the key. In a system namespace it does.
func TestEnvoyShowsNoCertificateOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	const allowed = "{type: Mesh, name: default, tenancy: {edges: [infra]}}"
	own, lent, kept, listener := certs.New(t, "own.example.org"), certs.New(t, "lent.example.org"), certs.New(t, "kept.example.org"), certs.New(t, "*.example.org")
	v1 := envoytest.StartBackend(t, "v1")
	for _, c := range []struct {
		name, from, to string // what of the documents is otherwise
		own, lent      *certs.Pair
	}{
		{"open", allowed, "{type: Mesh, name: default}", listener, listener},
		{"granted hosts", allowed, `{type: Mesh, name: default, tenancy: {hosts: {mode: Owned, grants: [{namespaces: ["*"], hosts: ["*"]}]}}}`, listener, listener},
		{"other edges", allowed, "{type: Mesh, name: default, tenancy: {edges: [shop, lent]}}", listener, listener},
		{"its own", "k8s.kuma.io/namespace: infra", "k8s.kuma.io/namespace: shop", own, nil},
		{"a system namespace", allowed + "\n---\n{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: infra}", "{type: Dataplane, mesh: default, name: edge, labels: {k8s.kuma.io/namespace: weft-system}", own, lent},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plain, secure := envoytest.Port(t), envoytest.Port(t)
			documents := virtualHosts(plain, secure, v1.Port)
			if !strings.Contains(documents, c.from) {
				t.Fatalf("the documents say nothing of %s", c.from)
			}
			documents = strings.Replace(documents, c.from, c.to, 1)
			home := "infra"
			if _, after, ok := strings.Cut(documents, "name: edge, labels: {k8s.kuma.io/namespace: "); ok {
				home, _, _ = strings.Cut(after, "}")
			}
			p := serve(t, nil, documents, own.Secret("shop", "own"), lent.Secret("lent", "lent"), kept.Secret("lent", "kept"), listener.Secret(home, "listener"))
			p.envoy("edge", "delta")
			p.synced("edge")
			for host, want := range map[string]*certs.Pair{"own.example.org": c.own, "lent.example.org": c.lent, "plain.example.org": listener} {
				got, err := envoytest.AskTLS(secure, host, host, "/", 0)
				switch {
				case want == nil: // the host may be shown by its listener alone
					if err == nil && got.Leaf.Equal(lent.Leaf) {
						t.Errorf("%s: shown with the certificate of another namespace", host)
					}
				case err != nil || !got.Leaf.Equal(want.Leaf):
					t.Errorf("%s: %+v, %v", host, got, err)
				}
			}
		})
	}
}
