package metrics

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/weftmesh/weft/xds/bootstrap"
)

// The variables of the environment with the paths of the certificate by which metrics are served: Kuma's.
const (
	CertificateVariable = "KUMA_DATAPLANE_RUNTIME_METRICS_CERT_PATH"
	KeyVariable         = "KUMA_DATAPLANE_RUNTIME_METRICS_KEY_PATH"
)

// Paths are what Envoy's bootstrap has of metrics: the socket at which the agent serves them, and the files of the
// certificate by which Envoy shows them; empty for none. They are part of what is asked for a bootstrap.
type Paths struct {
	Socket      string `json:"metricsSocket,omitempty"`
	Certificate string `json:"metricsCertPath,omitempty"`
	Key         string `json:"metricsKeyPath,omitempty"`
}

// Features are what the agent says of them, so that Envoy is given the listeners that it can have.
func (p Paths) Features() []string {
	if p.Certificate == "" {
		return []string{bootstrap.MetricsFeature}
	}
	return []string{bootstrap.MetricsFeature, bootstrap.MetricsTLSFeature}
}

// Open is a Teller at a socket in a directory that nobody else may enter. That socket has nothing else: a listener
// to which strangers have access leads there. Figures asks Envoy, and lostLines counts what becomes of no access log.
func Open(dir string, figures func(ctx context.Context, path string) (io.ReadCloser, error), lostLines func() uint64, log *slog.Logger) (t *Teller, paths Paths, err error) {
	paths.Socket = filepath.Join(dir, "metrics.sock")
	l, err := net.Listen("unix", paths.Socket)
	if err != nil {
		return nil, paths, fmt.Errorf("listen for who fetches metrics: %w", err)
	}
	if err := os.Chmod(paths.Socket, 0o600); err != nil {
		return nil, paths, errors.Join(err, l.Close())
	}
	paths.secure(log)
	t = New(MetricsSource{Envoy: figures, Own: ofHost, LostLines: lostLines, Secure: paths.Certificate != "", Log: log})
	t.listener = l
	return t, paths, nil
}

// Serve answers at the socket until ctx ends.
func (t *Teller) Serve(ctx context.Context) error {
	server := &http.Server{Handler: t, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(t.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}

// secure finds the certificate that the environment names, of which there is none where Envoy could not use it: it
// would not start.
func (p *Paths) secure(log *slog.Logger) {
	cert, key := os.Getenv(CertificateVariable), os.Getenv(KeyVariable)
	if cert == "" && key == "" {
		return
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		log.Warn("metrics cannot be served by TLS: the certificate of "+CertificateVariable+" and "+KeyVariable+" cannot be used", "error", err)
		return
	}
	p.Certificate, p.Key = cert, key
}

// ofHost reports whether an address is one of this host.
func ofHost(ip netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok {
			if own, ok := netip.AddrFromSlice(n.IP); ok && own.Unmap() == ip.Unmap() {
				return true
			}
		}
	}
	return false
}
