package metrics_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/attach"
	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// open is a teller in a directory of its own, and what it logs.
func open(t *testing.T) (*metrics.Teller, metrics.Paths, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	teller, paths, err := metrics.Open(envoytest.Dir(t), func(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("there is no Envoy") }, nil, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	t.Cleanup(func() { _ = teller.Serve(ctx) })
	return teller, paths, log
}

// TestCertificateOfTheEnvironment: one that Envoy can use is a feature of the agent; one that it could not start with is
// told of and left out, and so is a port that wants one.
func TestCertificateOfTheEnvironment(t *testing.T) {
	s := &sidecar{t: t, dir: envoytest.Dir(t)}
	s.certify()
	cert, key := filepath.Join(s.dir, "cert.pem"), filepath.Join(s.dir, "key.pem")
	secure := &attach.Metrics{Ports: []*attach.Metrics_Port{{Port: 5671, Tls: true}}}

	teller, paths, log := open(t)
	if info, err := os.Stat(paths.Socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket is %v, %v", info.Mode(), err)
	}
	if got := paths.Features(); !slices.Equal(got, []string{bootstrap.MetricsFeature}) || paths.Certificate != "" {
		t.Errorf("without a certificate: %q", got)
	}
	teller.Tell(secure)
	if !strings.Contains(log.String(), "the port stays closed") || !strings.Contains(log.String(), metrics.CertificateVariable) {
		t.Errorf("a port that stays closed: %s", log)
	}

	t.Setenv(metrics.CertificateVariable, cert)
	t.Setenv(metrics.KeyVariable, key)
	teller, paths, log = open(t)
	teller.Tell(secure)
	if got := paths.Features(); !slices.Equal(got, []string{bootstrap.MetricsFeature, bootstrap.MetricsTLSFeature}) || paths.Certificate != cert || paths.Key != key || log.Len() > 0 {
		t.Errorf("with a certificate: %q, %+v, %s", got, paths, log)
	}

	t.Setenv(metrics.KeyVariable, cert)
	if _, paths, log = open(t); paths.Certificate != "" || !strings.Contains(log.String(), "cannot be used") {
		t.Errorf("with a key that is none: %+v, %s", paths, log)
	}
}

// TestOtherHosts: whatever it is told, an agent asks no application of another host.
func TestOtherHosts(t *testing.T) {
	t.Parallel()
	asked := false
	teller := metrics.New(metrics.MetricsSource{Own: func(ip netip.Addr) bool { asked = true; return false }, Log: slog.New(slog.DiscardHandler)})
	told := &attach.Metrics{Ports: []*attach.Metrics_Port{{Port: 1}}, Applications: []*attach.Metrics_Application{
		{Name: "a", Address: "192.0.2.1", Port: 80, Path: "/"}, {Name: "b", Address: "vault.internal", Port: 80, Path: "/"}, {Name: "c", Address: "169.254.169.254", Port: 80, Path: "/"}}}
	teller.Tell(told)
	text := answered(t, teller)
	for _, name := range []string{"a", "b", "c"} {
		if !strings.Contains(text, `application="`+name+`"} 0`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if !asked {
		t.Error("nobody asks which addresses are this host's")
	}
}
