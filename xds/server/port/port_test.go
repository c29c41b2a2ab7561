package port_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weftmesh/weft/xds/server/authority"
	"github.com/weftmesh/weft/xds/server/port"
)

// open serves a greeting by HTTP and health by gRPC.
func open(t *testing.T, config *tls.Config) string {
	t.Helper()
	p := port.New(port.Options{
		Logger:   slog.New(slog.DiscardHandler),
		TLS:      config,
		HTTP:     http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }),
		Register: func(g grpc.ServiceRegistrar) { healthv1.RegisterHealthServer(g, health.NewServer()) },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if err := p.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return l.Addr().String()
}

func checkHealth(t *testing.T, addr string, creds credentials.TransportCredentials) {
	t.Helper()
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	r, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil || r.Status != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("grpc: %v, %v", r, err)
	}
}

func checkHTTP(t *testing.T, url string, config *tls.Config) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: 10 * time.Second}
	defer c.CloseIdleConnections()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if b, err := io.ReadAll(resp.Body); string(b) != "HTTP/1.1" || err != nil {
		t.Errorf("http: %q, %v", b, err)
	}
}

// TestPlaintext: both forms of HTTP at one address, told apart by their first bytes.
func TestPlaintext(t *testing.T) {
	t.Parallel()
	addr := open(t, nil)
	checkHealth(t, addr, insecure.NewCredentials())
	checkHTTP(t, "http://"+addr, nil)
}

// TestTLS: told apart by ALPN, with an authority that is kept.
func TestTLS(t *testing.T) {
	t.Parallel()
	a, err := authority.Load(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.PEM())
	addr := open(t, a.TLS())
	checkHealth(t, addr, credentials.NewTLS(&tls.Config{RootCAs: roots}))
	checkHTTP(t, "https://"+addr, &tls.Config{RootCAs: roots})
	c := &http.Client{Transport: &http.Transport{}}
	defer c.CloseIdleConnections()
	if resp, err := c.Get("https://" + addr); err == nil {
		_ = resp.Body.Close()
		t.Error("a client that does not know the authority got an answer")
	}
}

// TestShutdownEndsSilence: connections that say nothing do not keep a port open.
func TestShutdownEndsSilence(t *testing.T) {
	t.Parallel()
	addr := open(t, nil)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
}
