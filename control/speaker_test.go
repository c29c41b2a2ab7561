package control_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// spoken are the protocols that the workload of a test speaks, each at an inbound of its own.
var spoken = []string{"http", "http2", "grpc", "tcp"}

// callerHeader is the header by which the workload says who called it, as its sidecar knows.
const callerHeader = "x-called-by"

const forwarded = "x-forwarded-client-cert"

// speaker answers by every protocol, and says who called it. It returns its ports.
func speaker(t *testing.T) map[string]uint32 {
	t.Helper()
	ports := map[string]uint32{}
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("upgrade") == "websocket" {
			echoUpgraded(w)
			return
		}
		if d, err := time.ParseDuration(r.URL.Query().Get("after")); err == nil {
			time.Sleep(d)
		}
		w.Header().Set(callerHeader, r.Header.Get(forwarded))
	}))
	web.Config.Protocols = &protocols
	web.Start()
	t.Cleanup(web.Close)
	ports["http"] = uint32(web.Listener.Addr().(*net.TCPAddr).Port)
	ports["http2"] = ports["http"]

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	healthv1.RegisterHealthServer(s, healthy{})
	go func() { _ = s.Serve(l) }() // ends by Stop
	t.Cleanup(s.Stop)
	ports["grpc"] = uint32(l.Addr().(*net.TCPAddr).Port)

	bytes, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bytes.Close() })
	go func() {
		for {
			c, err := bytes.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c) // until whoever called has gone
			}()
		}
	}()
	ports["tcp"] = uint32(bytes.Addr().(*net.TCPAddr).Port)
	return ports
}

// healthy answers calls by gRPC.
type healthy struct {
	healthv1.UnimplementedHealthServer
}

func (healthy) Check(ctx context.Context, _ *healthv1.HealthCheckRequest) (*healthv1.HealthCheckResponse, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	return &healthv1.HealthCheckResponse{}, grpc.SetHeader(ctx, metadata.Pairs(callerHeader, strings.Join(md.Get(forwarded), ",")))
}

// echoUpgraded switches protocols, and sends back what comes.
func echoUpgraded(w http.ResponseWriter) {
	c, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	defer c.Close()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	_, _ = io.Copy(c, buffered) // until whoever called has gone
}
