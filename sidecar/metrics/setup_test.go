package metrics_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/connections"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/resource"
)

// sidecar is a real Envoy with weft's bootstrap and the listeners of weft's for metrics, and the teller of its
// agent.
type sidecar struct {
	t           *testing.T
	dir, admin  string
	port        uint32 // at which metrics are fetched
	certificate []byte // in PEM, by which they are served; empty for none
	teller      *metrics.Teller
	told        *attach.Metrics
	state       *resource.State
}

// resolve is a dataplane with a conf of MeshMetric.
func resolve(t *testing.T, conf string) *effective.Resolved {
	t.Helper()
	text := `{type: Dataplane, mesh: default, name: web-1, networking: {address: 127.0.0.1, inbound: [{port: 1, name: main, tags: {kuma.io/service: web, kuma.io/protocol: http}}]}}
---
{type: MeshMetric, mesh: default, name: all, spec: {default: ` + conf + `}}
`
	objects, err := decode.Objects(world.Catalog(), "web-1.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, notes := world.Compile(snapshot.New(1, append(objects, world.DefaultMesh())...))
	for _, n := range notes {
		if n.Severity == api.Error {
			t.Fatal(n)
		}
	}
	r, ok := m.Dataplane(objects[0].Ref)
	if !ok {
		t.Fatal("there is no dataplane")
	}
	return r
}

// start has conf, in which PORT is where metrics are fetched.
func start(t *testing.T, conf string) *sidecar {
	t.Helper()
	s := &sidecar{t: t, dir: envoytest.Dir(t), admin: envoytest.Socket(t), port: envoytest.Port(t)}
	if strings.Contains(conf, "ProvidedTLS") {
		s.certify()
	}
	socket := filepath.Join(s.dir, "metrics.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s.teller = metrics.New(metrics.MetricsSource{Envoy: s.figures, Own: func(netip.Addr) bool { return false }, LostLines: func() uint64 { return 7 }, Log: slog.New(slog.DiscardHandler)})
	server := &http.Server{Handler: s.teller}
	go func() { _ = server.Serve(l) }() // ends with Close
	t.Cleanup(func() { _ = server.Close() })
	s.tell(conf)

	config := render.Config{Mesh: "default", Name: "web-1", XDSHost: "127.0.0.1", XDSPort: 1, AdminSocket: s.admin, MetricsSocket: socket}
	if s.certificate != nil {
		config.MetricsCertificate, config.MetricsKey = filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	}
	raw, err := render.Bootstrap(config)
	if err != nil {
		t.Fatal(err)
	}
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(raw, b); err != nil {
		t.Fatal(err)
	}
	b.DynamicResources = nil
	for _, x := range s.state.Listeners {
		if strings.HasPrefix(x.Name, "metrics:") {
			b.StaticResources.Listeners = append(b.StaticResources.Listeners, envoytest.Listener(t, x))
		}
	}
	b.StaticResources.Clusters = append(b.StaticResources.Clusters, envoytest.EchoCluster("live", envoytest.StartBackend(t, "live")))
	envoytest.Start(t, s.admin, envoytest.JSON(t, b)).Ready()
	return s
}

// tell tells the agent of a conf, as the control plane does.
func (s *sidecar) tell(conf string) {
	s.t.Helper()
	r := resolve(s.t, strings.ReplaceAll(conf, "PORT", fmt.Sprint(s.port)))
	s.state = world.Settings{}.Renderer().Render(r)
	if s.told = connections.MetricsFor(r); s.told == nil {
		s.teller.Tell(&attach.Metrics{})
		return
	}
	s.teller.Tell(s.told)
}

// figures asks Envoy's administration.
func (s *sidecar) figures(ctx context.Context, path string) (io.ReadCloser, error) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", s.admin)
	}}}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://envoy/"+path, nil)
	if err != nil {
		return nil, err
	}
	resp, err := client.Do(q)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// get asks for a path by HTTP.
func (s *sidecar) get(path string) (status int, text string) {
	s.t.Helper()
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path))
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// fetch is what Prometheus' parser reads there.
func (s *sidecar) fetch() map[string]*dto.MetricFamily {
	s.t.Helper()
	status, text := s.get("/metrics")
	if status != http.StatusOK {
		s.t.Fatalf("%d %s", status, text)
	}
	out := parsed(s.t, text)
	for name := range out {
		if addressed.MatchString(name) {
			s.t.Errorf("a part of an address or a name is in %s", name)
		}
	}
	return out
}

// addressed is a name with a number of its own in it, such as that of a port.
var addressed = regexp.MustCompile(`_[0-9]+(_|$)`)

func parsed(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	p := expfmt.NewTextParser(model.LegacyValidation)
	out, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%.4096s", err, text)
	}
	return out
}

// series are those of a family, each as its labels in order.
func series(mf *dto.MetricFamily) (out []string) {
	for _, m := range mf.GetMetric() {
		var parts []string
		for _, p := range m.GetLabel() {
			parts = append(parts, p.GetName()+"="+p.GetValue())
		}
		value := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		out = append(out, fmt.Sprintf("%s %v", strings.Join(parts, ","), value))
	}
	return out
}

// certify makes a certificate for loopback.
func (s *sidecar) certify() {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	s.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"cert.pem": s.certificate, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(s.dir, name), text, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}

// answered is what a teller answers who fetches metrics, without an Envoy between.
func answered(t *testing.T, teller *metrics.Teller) string {
	t.Helper()
	w := httptest.NewRecorder()
	teller.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return w.Body.String()
}
