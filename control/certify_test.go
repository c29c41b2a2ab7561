package control_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/agent"
	signing "github.com/weftmesh/weft/xds/server/authority/workload"
)

// secure starts a control plane with identities that sidecars reach by TLS.
func secure(t testing.TB, log *slog.Logger, change ...func(*control.Config)) *plane {
	t.Helper()
	c := guarded(t)
	for _, f := range change {
		f(&c)
	}
	c.DataplaneAuth, c.XDSPlaintext = "token", false
	p := startLogging(t, c, log)
	text, err := os.ReadFile(filepath.Join(c.DataDir, "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(text)
	p.trusts, p.dir = &tls.Config{RootCAs: pool}, c.DataDir
	return p
}

// dataplaneToken is one for a dataplane, with claims.
func (p *plane) dataplaneToken(name, claims string) string {
	p.t.Helper()
	return p.want(http.StatusOK, http.MethodPost, "/tokens/dataplane", `{"mesh":"default","name":"`+name+`","validFor":"1h"`+claims+`}`)
}

// certify asks for a certificate of a new key, by a request that names somebody else.
func (p *plane) certify(token, name string) (int, []string, string) {
	p.t.Helper()
	key, err := signing.NewKey()
	if err != nil {
		p.t.Fatal(err)
	}
	request, err := x509.CreateCertificateRequest(nil, &x509.CertificateRequest{Subject: pkix.Name{CommonName: "payments"}, DNSNames: []string{"payments"},
		URIs: []*url.URL{{Scheme: "spiffe", Host: "default", Path: "/payments"}}}, key)
	if err != nil {
		p.t.Fatal(err)
	}
	code, text := p.posted(token, map[string]any{"mesh": "default", "name": name, "request": request})
	if code != http.StatusOK {
		return code, nil, text
	}
	var answer struct{ Chain string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		p.t.Fatal(err)
	}
	block, _ := pem.Decode([]byte(answer.Chain))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, u := range leaf.URIs {
		names = append(names, u.String())
	}
	if !key.PublicKey.Equal(leaf.PublicKey) || len(leaf.DNSNames) > 0 || leaf.Subject.CommonName != "" || leaf.IsCA {
		p.t.Errorf("a certificate of another form: %v", leaf.Subject)
	}
	return code, names, text
}

// posted asks for a certificate by this body.
func (p *plane) posted(token string, body map[string]any) (int, string) {
	p.t.Helper()
	code, answer, err := p.tryPosted(token, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return code, answer
}

// tryPosted is posted where the control plane may have gone meanwhile.
func (p *plane) tryPosted(token string, body map[string]any) (int, string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return 0, "", err
	}
	ask, err := http.NewRequest(http.MethodPost, "https://"+p.XDS()+"/certify", bytes.NewReader(text))
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		ask.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts, DisableKeepAlives: true}}
	resp, err := client.Do(ask)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(answer), err
}

func memberDocument(name, service string) string {
	return fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking: {address: 127.0.0.1, inbound: [{port: 8080, tags: {kuma.io/service: %s, team: a}}]}\n---\n", name, service)
}

// TestWhoMayHaveWhichIdentity (I1, I3, cases 7, 9, 38): a certificate names who the credential
// proves, whatever the request and a guest's document say.
func TestWhoMayHaveWhichIdentity(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+memberDocument("pay-1", "payments")+memberDocument("odd-1", "odd"))
	if code, _, text := p.certify(p.dataplaneToken("web-1", ""), "web-1"); code != http.StatusNoContent {
		t.Errorf("without an authority: %d %s", code, text)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin))
	web, pay := p.dataplaneToken("web-1", ""), p.dataplaneToken("pay-1", "")
	if code, _, text := p.certify(web, "web-1"); code != http.StatusServiceUnavailable || !strings.Contains(text, "Envoy has not acknowledged") {
		t.Errorf("before its Envoy is connected: %d %s", code, text)
	}
	for name, token := range map[string]string{"web-1": web, "pay-1": pay} {
		_, end := p.stream(name, token)
		defer end()
	}
	services := map[string]string{"web-1": "spiffe://default/web", "pay-1": "spiffe://default/payments"}
	for name, want := range services {
		for of, token := range map[string]string{"web-1": web, "pay-1": pay, "": "", "nonsense": "nonsense"} {
			code, names, text := p.certify(token, name)
			if of == name {
				if code != http.StatusOK || names[0] != want || len(names) != 3 {
					t.Errorf("%s: %d %s %s", name, code, names, text)
				}
			} else if code == http.StatusOK || code != http.StatusForbidden && code != http.StatusUnauthorized {
				t.Errorf("%s with the token of %s: %d %s", name, of, code, names)
			}
		}
	}
	p.guests(t)
	// The rate cap of one dataplane is nobody else's.
	for i := 0; ; i++ {
		code, _, _ := p.certify(web, "web-1")
		if code == http.StatusTooManyRequests {
			break
		}
		if i > 20 {
			t.Fatal("no bound on certificates")
		}
	}
	if code, _, text := p.certify(pay, "pay-1"); code != http.StatusOK {
		t.Errorf("another dataplane: %d %s", code, text)
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", "type: MeshIdentity\nmesh: default\nname: team\nspec: {selector: {}, spiffeID: {path: '/x/{{ label \"team\" }}'}, provider: {type: Bundled, bundled: {insecureAllowSelfSigned: true, autogenerate: {enabled: true}}}}\n")
	if code, _, text := p.certify(pay, "pay-1"); code != http.StatusForbidden || !strings.Contains(text, "SpiffeIDInvalid") || !strings.Contains(text, "pay-1") || !strings.Contains(text, "team") {
		t.Errorf("case 9: %d %s", code, text)
	}
}

// guests: who brings a Dataplane along has the names that its token binds.
func (p *plane) guests(t *testing.T) {
	t.Helper()
	p.want(http.StatusOK, http.MethodPut, "/meshes/default", `{"type":"Mesh","name":"default","labels":{"weft.io/unbound-tokens":"any"},"mtls":{"enabledBackend":"ca-1","backends":[{"name":"ca-1","type":"builtin","mode":"PERMISSIVE"}]}}`)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts}}
	for claims, want := range map[string]int{`,"tags":{"kuma.io/service":["payments"]}`: http.StatusOK, "": http.StatusForbidden, `,"tags":{"team":["a"]}`: http.StatusForbidden} {
		name := fmt.Sprintf("guest-%d-%d", want, len(claims))
		token := p.dataplaneToken(name, claims)
		if code, text := p.ask(client, "https://"+p.XDS(), token, map[string]any{"mesh": "default", "name": name, "dataplaneResource": memberDocument(name, "payments")}); code != http.StatusOK {
			t.Fatalf("%d %s", code, text)
		}
		_, end := p.stream(name, token)
		defer end()
		code, names, text := p.certify(token, name)
		switch {
		case code != want:
			t.Errorf("a guest with %s: %d %s", claims, code, text)
		case want == http.StatusOK && (len(names) != 2 || names[0] != "spiffe://default/payments" || strings.Contains(text, "kuma://team")):
			t.Errorf("a guest with %s is %s", claims, names)
		case want != http.StatusOK && (!strings.Contains(text, "IdentityRefused") || !strings.Contains(text, "--tag kuma.io/service=payments")):
			t.Errorf("a guest with %s: %s", claims, text)
		}
		p.tells(name, "IdentityRefused", "--tag kuma.io/service=payments", want != http.StatusOK)
	}
}

// TestNothingIsProvedWithoutCredentials: over plaintext and without tokens nothing is issued.
func TestNothingIsProvedWithoutCredentials(t *testing.T) {
	t.Parallel()
	p := start(t, guarded(t))
	defer p.stop()
	resp, err := http.Post("http://"+p.XDS()+"/certify", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "NoProof") {
		t.Errorf("%d %s", resp.StatusCode, text)
	}
}

// sidecar runs a real agent with a real Envoy until the test ends, or stop is called.
func (p *plane) sidecar(name, token string, log *slog.Logger, drain ...time.Duration) (stop func()) {
	p.t.Helper()
	return sidecarOf(p.t, p.XDS(), p.dir, name, token, log, func(c *agent.Config) {
		for _, d := range drain {
			c.DrainTime, c.ListenerDrain = d, d
		}
	})
}

// sidecarOf is one of a control plane by its address and its data directory.
func sidecarOf(t testing.TB, address, dir, name, token string, log *slog.Logger, change ...func(*agent.Config)) (stop func()) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
		t.Fatal(err)
	}
	conf := agent.Default()
	conf.XDS, conf.Name, conf.TokenFile, conf.CAFile = "https://"+address, name, file, filepath.Join(dir, "ca.pem")
	conf.Envoy, conf.DrainTime = envoytest.Path(t), 0
	for _, f := range change {
		f(&conf)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- agent.New(conf, log).Run(ctx) }()
	stopped := false
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-ended
		}
	}
	t.Cleanup(stop)
	return stop
}

// TestASidecarIsCertified (I10): a real sidecar gets a certificate, its agent reports it, and no
// key is in any file, log or answer.
func TestASidecarIsCertified(t *testing.T) {
	t.Parallel()
	var log journal
	p := secure(t, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web"))
	stop := p.sidecar("web-1", p.dataplaneToken("web-1", ""), slog.New(slog.NewTextHandler(&log, nil)))
	defer stop()
	eventually(t, "it is connected", func() bool { return strings.Contains(log.String(), "msg=connected") })
	began := time.Now()
	p.want(http.StatusOK, http.MethodPost, "/_apply", fmt.Sprintf(mutual, "ca-1", builtin))
	eventually(t, "it has a certificate", func() bool { return strings.Contains(log.String(), "certificate of the workload") })
	t.Logf("certified %v after mutual TLS was switched on", time.Since(began).Round(time.Millisecond))
	eventually(t, "it is reported", func() bool { return p.Reported("web-1") })
	dump := p.want(http.StatusOK, http.MethodGet, "/meshes/default/dataplanes/web-1/xds", "")
	if !strings.Contains(dump, "sidecar_secrets") {
		t.Error("its Envoy does not know its agent")
	}
	for what, text := range map[string]string{"the log": log.String(), "config_dump": dump} {
		if strings.Contains(text, "PRIVATE KEY") || strings.Contains(text, "UFJJVkFURS") {
			t.Errorf("%s shows a key", what)
		}
	}
}
