package control_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"

	"github.com/weftmesh/weft/control"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// kumaAgent is the version of kuma-dp as it says it of itself.
var kumaAgent = map[string]any{"kumaDp": map[string]any{"version": "2.13.0"}}

// kumaDP runs a real Envoy as kuma-dp does: on the bootstrap that it asks for, with nothing
// beside that has a key.
func (p *plane) kumaDP(name, token string) *envoytest.Envoy {
	p.t.Helper()
	admin := envoytest.Socket(p.t)
	body, err := json.Marshal(map[string]any{"mesh": "default", "name": name, "proxyType": "dataplane", "adminSocket": admin, "version": kumaAgent})
	if err != nil {
		p.t.Fatal(err)
	}
	ask, err := http.NewRequest(http.MethodPost, "https://"+p.XDS()+"/bootstrap", bytes.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	ask.Header.Set("Authorization", "Bearer "+token)
	ask.Header.Set("Accept", "application/json")
	resp, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: p.trusts, DisableKeepAlives: true}}).Do(ask)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct{ Bootstrap []byte }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatal(resp.StatusCode, err)
	}
	return envoytest.Start(p.t, admin, answer.Bootstrap)
}

// secrets asks for them as a client with an agent of a version, and hands on each response until
// enough says so.
func (p *plane) secrets(name, token string, version map[string]any, enough func(*tlsv3.Secret) bool) (all string) {
	p.t.Helper()
	stream, end := p.streamOf(name, token, version)
	defer end()
	ask := &discoveryv3.DeltaDiscoveryRequest{TypeUrl: resource.SecretType, ResourceNamesSubscribe: []string{naming.IdentitySecret("default"), "mesh_ca:secret:default"}}
	for {
		if err := stream.Send(ask); err != nil {
			p.t.Fatal(err)
		}
		got, err := stream.Recv()
		if err != nil {
			p.t.Fatal(err)
		}
		all += got.String()
		ask = &discoveryv3.DeltaDiscoveryRequest{TypeUrl: got.GetTypeUrl(), ResponseNonce: got.GetNonce()}
		for _, r := range got.GetResources() {
			secret := &tlsv3.Secret{}
			if r.GetResource().UnmarshalTo(secret) == nil && enough(secret) {
				return all
			}
		}
	}
}

// TestKumaDPHasItsCertificateFromTheControlPlane: a sidecar without an agent of weft and one
// with it call each other by mutual TLS alone, also after a restart of the control plane; the key
// is on the stream of its sidecar and nowhere else (spec/identity.md 2.3, I10).
func TestKumaDPHasItsCertificateFromTheControlPlane(t *testing.T) {
	t.Parallel()
	var log, later journal
	logs := func(j *journal) *slog.Logger {
		return slog.New(slog.NewTextHandler(j, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	address := envoytest.Address(t)
	var conf control.Config
	p := secure(t, logs(&log), func(c *control.Config) { c.XDS = address; conf = *c })
	web, pay := newMember(t, "web-1", "web", "payments"), newMember(t, "pay-1", "payments", "web")
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+web.document+pay.document+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	webToken, payToken := p.dataplaneToken("web-1", ""), p.dataplaneToken("pay-1", "")
	p.kumaDP("web-1", webToken)
	p.sidecar("pay-1", payToken, logs(&log))
	both := map[string]member{"web": web, "payments": pay}
	p.know(both)
	if strings.Contains(log.String(), "msg=refused") {
		t.Errorf("an Envoy refused something:\n%s", log.String())
	}
	p.keyStaysWith(&log, webToken, payToken)
	p.stop()
	conf.DataplaneAuth, conf.XDSPlaintext = "token", false
	again := startLogging(t, conf, logs(&later))
	defer again.stop()
	eventually(t, "both are back, and the one has another certificate", func() bool {
		return strings.Count(later.String(), "msg=connected") == 2 && strings.Count(later.String(), "msg=signed") == 1 && later.has("msg=signed", "web-1")
	})
	again.know(both)
}

// keyStaysWith looks for the key of web-1 wherever it must not be.
func (p *plane) keyStaysWith(log *journal, webToken, payToken string) {
	p.t.Helper()
	var key string
	p.secrets("web-1", webToken, kumaAgent, func(s *tlsv3.Secret) bool {
		key = string(s.GetTlsCertificate().GetPrivateKey().GetInlineBytes())
		return key != ""
	})
	lines := strings.Split(key, "\n")
	if len(lines) < 3 {
		p.t.Fatalf("no key in PEM: %d lines", len(lines))
	}
	outputs := map[string]string{"the log": log.String()}
	outputs["the stream of another"] = p.secrets("pay-1", payToken, map[string]any{"weft": "7.8.9"}, func(s *tlsv3.Secret) bool { return s.GetName() == "mesh_ca:secret:default" })
	const dp = "/meshes/default/dataplanes/web-1"
	for _, path := range []string{dp + "/xds", dp + "/_config", dp + "/_overview", dp + "/_explain", dp + "/_layout", "/meshes/default/dataplanes/pay-1/xds",
		"/meshes/default/_mtls", "/meshes/default/_authorities", "/meshes/default/_status", "/meshes/default/secrets", "/_problems", "/_history", "/metrics"} {
		outputs[path] = p.want(http.StatusOK, http.MethodGet, path, "")
	}
	if !strings.Contains(outputs[dp+"/xds"], naming.IdentitySecret("default")) {
		p.t.Error("xds does not name what was sent")
	}
	if !strings.Contains(outputs[dp+"/_overview"], `"kumaDp":{"version":"2.13.0"}`) {
		p.t.Errorf("the overview does not name its version: %s", outputs[dp+"/_overview"])
	}
	for where, text := range outputs {
		if strings.Contains(text, lines[1]) || strings.Contains(text, "PRIVATE KEY") {
			p.t.Errorf("%s shows a key", where)
		}
	}
	for name, text := range files(p.t, p.dir) {
		if bytes.Contains(text, []byte(lines[1])) {
			p.t.Errorf("file %s shows the key", name)
		}
	}
}

// TestNoKeyIsSentInPlainText (NoProof): where streams are not protected, or nobody proves who
// he is, a kuma-dp gets whom to trust and no certificate.
func TestNoKeyIsSentInPlainText(t *testing.T) {
	t.Parallel()
	var log journal
	p := startLogging(t, guarded(t), log.logger())
	defer p.stop()
	p.want(http.StatusOK, http.MethodPost, "/_apply", memberDocument("web-1", "web")+fmt.Sprintf(mutual, "ca-1", strings.Replace(builtin, "PERMISSIVE", "STRICT", 1)))
	_, end := p.streamOf("web-1", "", kumaAgent)
	defer end()
	eventually(t, "it is refused", func() bool { return log.has("NoProof", "web-1") })
	all := p.secrets("web-1", "", kumaAgent, func(s *tlsv3.Secret) bool { return s.GetName() == "mesh_ca:secret:default" })
	if strings.Contains(all, naming.IdentitySecret("default")) {
		t.Errorf("a certificate was sent: %s", all)
	}
}
