package workload

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
)

// The forms of trust that TestFacts compares: bundles by domain, as weft has them, alone and
// with the check of F2; and the roots of all domains together with a prefix of names.
const (
	byDomain = iota
	byDomainPaired
	together
	forms
)

// text is a DataSource of Envoy.
func text(pem []byte) any { return map[string]any{"inline_string": string(pem)} }

// trusting is the validation context of a form: the roots by domain.
func trusting(form int, roots map[string]*Signer) any {
	var all []byte
	var domains []any
	for _, domain := range []string{"a.mesh", "b.mesh", "c.mesh"} {
		certificate := certificatePEM(roots[domain].certificate)
		all = append(all, certificate...)
		domains = append(domains, map[string]any{"name": domain, "trust_bundle": text(certificate)})
	}
	if form == together {
		return map[string]any{"trusted_ca": text(all), "match_typed_subject_alt_names": []any{
			map[string]any{"san_type": "URI", "matcher": map[string]any{"prefix": "spiffe://"}}}}
	}
	return map[string]any{"custom_validator_config": map[string]any{"name": "envoy.tls.cert_validator.spiffe", "typed_config": map[string]any{
		"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.SPIFFECertValidatorConfig", "trust_domains": domains}}}
}

// permissions allow a.mesh's names, whichever of a certificate's; paired they first deny whoever
// has names of two domains.
func permissions(form int) (filters []any) {
	prefix := func(domain string) any {
		return map[string]any{"authenticated": map[string]any{"principal_name": map[string]any{"prefix": spiffePrefix(domain)}}}
	}
	rbac := func(name, action string, principal any) any {
		return map[string]any{"name": name, "typed_config": map[string]any{"@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
			"rules": map[string]any{"action": action, "policies": map[string]any{"p": map[string]any{
				"permissions": []any{map[string]any{"any": true}}, "principals": []any{principal}}}}}}
	}
	if form == byDomainPaired {
		filters = append(filters, rbac("pairs", "DENY", map[string]any{"and_ids": map[string]any{"ids": []any{prefix("a.mesh"), prefix("b.mesh")}}}))
	}
	return append(filters, rbac("allow", "ALLOW", prefix("a.mesh")),
		map[string]any{"name": "envoy.filters.http.router", "typed_config": map[string]any{"@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}})
}

func spiffePrefix(domain string) string { return "spiffe://" + domain + "/" }

// inbound is a strict listener that answers 200 to whom it lets in.
func inbound(port uint32, form int, roots map[string]*Signer, certificate, key []byte) any {
	return map[string]any{
		"name":    fmt.Sprint(form),
		"address": map[string]any{"socket_address": map[string]any{"address": "127.0.0.1", "port_value": port}},
		"filter_chains": []any{map[string]any{
			"filters": []any{map[string]any{"name": "hcm", "typed_config": map[string]any{
				"@type":        "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
				"stat_prefix":  "in",
				"http_filters": permissions(form),
				"route_config": map[string]any{"virtual_hosts": []any{map[string]any{"name": "all", "domains": []any{"*"},
					"routes": []any{map[string]any{"match": map[string]any{"prefix": "/"}, "direct_response": map[string]any{"status": 200}}}}}},
			}}},
			"transport_socket": map[string]any{"name": "tls", "typed_config": map[string]any{
				"@type":                      "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
				"require_client_certificate": true,
				"common_tls_context": map[string]any{
					"tls_certificates":   []any{map[string]any{"certificate_chain": text(certificate), "private_key": text(key)}},
					"validation_context": trusting(form, roots),
				}}},
		}},
	}
}

// identity is a leaf with its key.
func identity(t *testing.T, by *Signer, now time.Time, names ...string) tls.Certificate {
	t.Helper()
	if by.CanDelegate() {
		var err error
		if by, err = by.Intermediate(now); err != nil {
			t.Fatal(err)
		}
	}
	key := newKey(t)
	chain, err := by.Issue(names, &key.PublicKey, CertificateLife, now)
	if err != nil {
		t.Fatal(err)
	}
	out := tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

// ask is the status that a client with a certificate gets, 0 where the connection fails.
func ask(port uint32, client tls.Certificate) int {
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{client}}}
	defer transport.CloseIdleConnections()
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get(fmt.Sprintf("https://127.0.0.1:%d/", port))
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // it has none
	return resp.StatusCode
}

// provided is a root as people bring it: Ed25519, and for leaves alone.
func provided(t *testing.T, now time.Time) *Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := authority("of somebody", now)
	if err != nil {
		t.Fatal(err)
	}
	c.NotAfter, c.MaxPathLenZero = now.Add(RootLife), true
	signed, err := sign(c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return &Signer{certificate: signed, key: key}
}

// TestFacts: what weft's certificates and forms of trust rest on, asked of a real Envoy
// (spec/identity.md 0, F1, F2 and F14; threats I5 and I7). Were one of these answers to
// change, a rule of weft's would have lost its reason, or its effect.
func TestFacts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	roots := map[string]*Signer{"a.mesh": newRoot(t, "a.mesh", true, now), "b.mesh": newRoot(t, "b.mesh", false, now), "c.mesh": provided(t, now)}
	server := identity(t, roots["a.mesh"], now, "spiffe://a.mesh/server")
	var chain []byte
	for _, c := range server.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	var listeners []any
	var ports [forms]uint32
	for form := range forms {
		ports[form] = envoytest.Port(t)
		listeners = append(listeners, inbound(ports[form], form, roots, chain, key))
	}
	admin := envoytest.Socket(t)
	bootstrap, err := json.Marshal(map[string]any{
		"admin":            map[string]any{"address": map[string]any{"pipe": map[string]any{"path": admin}}},
		"static_resources": map[string]any{"listeners": listeners},
	})
	if err != nil {
		t.Fatal(err)
	}
	envoytest.Start(t, admin, bootstrap).Ready()
	const refused, denied, allowed = 0, http.StatusForbidden, http.StatusOK
	for _, c := range []struct {
		what   string
		by     string
		names  []string
		answer [forms]int
	}{
		{"a's own", "a.mesh", []string{"spiffe://a.mesh/web"}, [forms]int{allowed, allowed, allowed}},
		{"b's own", "b.mesh", []string{"spiffe://b.mesh/web"}, [forms]int{denied, denied, denied}},
		{"a provided root's own", "c.mesh", []string{"spiffe://c.mesh/web"}, [forms]int{denied, denied, denied}},
		{"F1: b claims a's", "b.mesh", []string{"spiffe://a.mesh/web"}, [forms]int{refused, refused, allowed}},
		{"F2: b claims a's behind its own", "b.mesh", []string{"spiffe://b.mesh/web", "spiffe://a.mesh/web"}, [forms]int{allowed, denied, allowed}},
		{"F2: a tag in front, claimed by b", "b.mesh", []string{"spiffe://b.mesh/web", "kuma://version/v1"}, [forms]int{denied, denied, denied}},
		{"F14: a, constrained, speaks for b", "a.mesh", []string{"spiffe://b.mesh/web"}, [forms]int{refused, refused, refused}},
		{"F14: a, constrained, speaks for a name below", "a.mesh", []string{"spiffe://x.a.mesh/web"}, [forms]int{refused, refused, refused}},
		{"F14: a, constrained, names a tag", "a.mesh", []string{"spiffe://a.mesh/web", "kuma://version/v1"}, [forms]int{refused, refused, refused}},
	} {
		client := identity(t, roots[c.by], now, c.names...)
		for form, want := range c.answer {
			if got := ask(ports[form], client); got != want {
				t.Errorf("%s, form of trust %d: %d, want %d", c.what, form, got, want)
			}
		}
	}
	// A name that is no SPIFFE ID in front of one that is: Leaf makes none, so by hand.
	if got := ask(ports[byDomain], tagFirst(t, roots["b.mesh"], now)); got != refused {
		t.Errorf("F2: a tag in front of the ID: %d", got)
	}
	early := identity(t, roots["a.mesh"], now.Add(2*Leeway), "spiffe://a.mesh/web")
	if got := ask(ports[byDomain], early); got != refused {
		t.Errorf("a certificate that is not valid yet: %d", got)
	}
}

// tagFirst is a leaf whose first name is a tag.
func tagFirst(t *testing.T, by *Signer, now time.Time) tls.Certificate {
	t.Helper()
	names, err := uris([]string{"spiffe://b.mesh/web", "kuma://version/v1"})
	if err != nil {
		t.Fatal(err)
	}
	names[0], names[1] = names[1], names[0]
	serial, err := newSerial()
	if err != nil {
		t.Fatal(err)
	}
	key := newKey(t)
	leaf, err := sign(&x509.Certificate{SerialNumber: serial, NotBefore: now.Add(-Leeway), NotAfter: now.Add(CertificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, URIs: names}, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{PrivateKey: key, Certificate: [][]byte{leaf.Raw}}
}
