package xds_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve"
)

// webSocketServer switches protocols, and says hello once after has passed.
func webSocketServer(t *testing.T, after time.Duration) *net.TCPAddr {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			http.Error(w, "no upgrade", http.StatusBadRequest)
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = fmt.Fprint(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") // the client sees what is missing
		<-time.After(after)
		_, _ = fmt.Fprint(conn, "hello\n")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().(*net.TCPAddr)
}

// TestWebSocketInEnvoy: a WebSocket passes two sidecars, by HTTP/2 between them,
// and lives longer than the timeout of requests on either side; another upgrade
// is answered 403.
func TestWebSocketInEnvoy(t *testing.T) {
	t.Parallel()
	const bound = 300 * time.Millisecond
	app := webSocketServer(t, 3*bound)
	limit := api.Duration(bound)
	timeouts := resolve.Policies{fold(t, timeout.Kind, &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &limit}})}
	in := &resolve.Inbound{
		Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: "127.0.0.1", ServicePort: uint32(app.Port),
		Protocol: api.HTTP, Policies: timeouts,
	}
	envoytest.Drive(t, renderer().Render(sidecar(nil, nil, in)))
	hop := use("web:8080", web(), resolve.Endpoint{Address: in.Address, Port: in.Port})
	hop.Cluster.HTTP2 = true
	client := sidecar(nil, []resolve.ClusterUse{hop})
	tab := table()
	tab.Routes[0].Policies = timeouts
	out := outbound(t, tab, nil)
	client.Outbounds = []*resolve.Outbound{out}
	envoytest.Drive(t, renderer().Render(client))
	ask := func(protocol string) (int, *bufio.Reader) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", out.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = fmt.Fprintf(conn, "GET /chat HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", protocol)
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, r
	}
	status, r := ask("websocket")
	if status != http.StatusSwitchingProtocols {
		t.Fatalf("status %d, want 101", status)
	}
	if line, err := r.ReadString('\n'); err != nil || strings.TrimSpace(line) != "hello" {
		t.Errorf("after the timeout of requests: %q, %v", line, err)
	}
	if status, _ := ask("other"); status != http.StatusForbidden {
		t.Errorf("another upgrade: %d, want 403", status)
	}
	if status, _ := ask("h2c"); status != http.StatusBadRequest {
		t.Errorf("h2c: %d, want the answer of the workload to a request without upgrade", status)
	}
}
