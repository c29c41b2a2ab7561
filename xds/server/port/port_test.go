package port_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"

	"github.com/weftmesh/weft/xds/server/authority"
	"github.com/weftmesh/weft/xds/server/port"
)

// open serves a text by HTTP and health by gRPC.
func open(t *testing.T, config *tls.Config) string {
	t.Helper()
	return within(t, config, 0)
}

// within bounds requests by HTTP; a body is read to its end before the answer.
func within(t *testing.T, config *tls.Config, patience time.Duration) string {
	t.Helper()
	p := port.New(port.Options{
		Logger: slog.New(slog.DiscardHandler),
		TLS:    config,
		HTTP: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := io.Copy(io.Discard, r.Body); err == nil {
				_, _ = io.WriteString(w, r.Proto)
			}
		}),
		Patience: patience,
		Register: func(g grpc.ServiceRegistrar) { healthv1.RegisterHealthServer(g, health.NewServer()) },
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r, err := healthv1.NewHealthClient(conn).Check(ctx, &healthv1.HealthCheckRequest{})
	if err != nil || r.Status != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("grpc: %v, %v", r, err)
	}
}

func checkHTTP(t *testing.T, url string, config *tls.Config) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: config}, Timeout: time.Minute}
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
	checkHTTP(t, "https://"+addr, &tls.Config{RootCAs: roots, NextProtos: []string{"h2", "http/1.1"}}) // as curl offers
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

// TestSlowBody: a client that never ends its request does not keep its
// connection, whereas a stream of gRPC may be silent for longer.
func TestSlowBody(t *testing.T) {
	t.Parallel()
	addr := within(t, nil, 100*time.Millisecond)
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "POST /bootstrap HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nslow"); err != nil {
		t.Fatal(err)
	}
	if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the connection is kept for as long as its client likes")
	}
	if state := conn.GetState(); state != connectivity.Ready {
		t.Errorf("the connection of gRPC is %s", state)
	}
}

// TestWhoComesWhileAPortDrainsIsServed: clients are told to open new streams elsewhere, and those
// who come all the same are served, by gRPC alone, until the port is closed.
func TestWhoComesWhileAPortDrainsIsServed(t *testing.T) {
	t.Parallel()
	p := port.New(port.Options{Logger: slog.New(slog.DiscardHandler), HTTP: http.NotFoundHandler(),
		Register: func(g grpc.ServiceRegistrar) { healthv1.RegisterHealthServer(g, health.NewServer()) }})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	addr := l.Addr().String()
	watch := func() healthv1.Health_WatchClient {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		w, err := healthv1.NewHealthClient(conn).Watch(t.Context(), &healthv1.HealthCheckRequest{})
		if err == nil {
			_, err = w.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	early := watch()
	p.Drain()
	p.Drain() // once is enough
	late := watch()
	for range 3 {
		checkHealth(t, addr, insecure.NewCredentials())
	}
	c := &http.Client{Transport: &http.Transport{}}
	if resp, err := c.Get("http://" + addr); err == nil {
		_ = resp.Body.Close()
		t.Error("HTTP is served still")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // which does not wait for streams
	if err := p.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("shutdown: %v", err)
	}
	if err := <-served; err != nil {
		t.Errorf("serve: %v", err)
	}
	for name, w := range map[string]healthv1.Health_WatchClient{"early": early, "late": late} {
		if _, err := w.Recv(); err == nil {
			t.Errorf("the %s stream goes on", name)
		}
	}
}
