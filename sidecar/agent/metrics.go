package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/weftmesh/weft/sidecar/identity"
	"github.com/weftmesh/weft/sidecar/metrics"
	"github.com/weftmesh/weft/xds/bootstrap"
)

// metricsPaths are what Envoy's bootstrap has of metrics: where the agent serves them, and by which certificate
// Envoy shows them; empty for none.
type metricsPaths struct{ socket, cert, key string }

// serveMetrics serves at a socket of its own what the control plane will say, and sends it to collectors. That
// socket has nothing else: a listener to which strangers have access leads there.
func (a *Agent) serveMetrics(ctx, closing context.Context, all *errgroup.Group, s *source, dir string) error {
	s.metrics.socket = filepath.Join(dir, "metrics.sock")
	l, err := identity.Listen(s.metrics.socket)
	if err != nil {
		return err
	}
	s.features = append(s.features, bootstrap.MetricsFeature)
	if s.metrics.cert, s.metrics.key = a.metricsCertificate(); s.metrics.cert != "" {
		s.features = append(s.features, bootstrap.MetricsTLSFeature)
	}
	a.metrics = metrics.New(metrics.MetricsSource{Envoy: a.figures, Own: ownAddress, Secure: s.metrics.cert != "", Log: a.log})
	e := &endpoint{"metrics", l, a.metrics}
	all.Go(func() error { return e.serve(closing) })
	all.Go(func() error { a.metrics.Push(ctx); return nil })
	return nil
}

// metricsCertificate is that which the environment names; empty where there is none that Envoy could use: it would
// not start.
func (a *Agent) metricsCertificate() (cert, key string) {
	cert, key = os.Getenv(metrics.CertificateVariable), os.Getenv(metrics.KeyVariable)
	if cert == "" && key == "" {
		return "", ""
	}
	if _, err := tls.LoadX509KeyPair(cert, key); err != nil {
		a.log.Warn("metrics cannot be served by TLS: the certificate of "+metrics.CertificateVariable+" and "+metrics.KeyVariable+" cannot be used", "error", err)
		return "", ""
	}
	return cert, key
}

// figures asks Envoy what it counted.
func (a *Agent) figures(ctx context.Context, path string) (io.ReadCloser, error) {
	resp, err := a.request(ctx, http.MethodGet, path)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("ask envoy for statistics: %s", resp.Status), resp.Body.Close())
	}
	return resp.Body, nil
}

// ownAddress reports whether an address is one of this host.
func ownAddress(ip netip.Addr) bool {
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
