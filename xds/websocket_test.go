package xds_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/matches"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
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
// whether its route lets it pass or says nothing, and lives longer than the timeout
// of requests on either side; another upgrade is answered 403, and so is every one
// where the route refuses them.
func TestWebSocketInEnvoy(t *testing.T) {
	t.Parallel()
	const bound = 300 * time.Millisecond
	app := webSocketServer(t, 3*bound)
	limit := api.Duration(bound)
	timeouts := effective.Policies{fold(t, timeout.Kind, &timeout.Conf{HTTP: &timeout.HTTP{RequestTimeout: &limit}})}
	in := &effective.Inbound{
		Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: "127.0.0.1", ServicePort: uint32(app.Port),
		Protocol: api.HTTP, Policies: timeouts,
	}
	envoytest.Drive(t, renderer().Render(sidecar(nil, nil, in)))
	hop := use("web:8080", web(), effective.Endpoint{Address: in.Address, Port: in.Port})
	hop.Cluster.HTTP2 = true
	client := sidecar(nil, []effective.ClusterUse{hop})
	tab := table()
	tab.Routes[0].Policies = timeouts
	for path, says := range map[string]route.Upgrade{"/on": route.UpgradeOn, "/off": route.UpgradeOff} {
		r := *tab.Routes[0]
		r.Name, r.Key, r.Match, r.Upgrade = path, path, matches.Path(match.SegmentPrefix, path), says
		tab.Routes = slices.Insert(tab.Routes, 0, &r)
	}
	out := outbound(t, tab, nil)
	client.Outbounds = []*effective.Outbound{out}
	envoytest.Drive(t, renderer().Render(client))
	ask := func(path, protocol string) (int, *bufio.Reader) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", out.Port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: web\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n", path, protocol)
		r := bufio.NewReader(conn)
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, r
	}
	for _, path := range []string{"/chat", "/on"} {
		status, r := ask(path, "websocket")
		if status != http.StatusSwitchingProtocols {
			t.Fatalf("%s: status %d, want 101", path, status)
		}
		if line, err := r.ReadString('\n'); err != nil || strings.TrimSpace(line) != "hello" {
			t.Errorf("%s, after the timeout of requests: %q, %v", path, line, err)
		}
	}
	if status, _ := ask("/off", "websocket"); status != http.StatusForbidden {
		t.Errorf("where the route refuses: %d, want 403", status)
	}
	for _, path := range []string{"/chat", "/on", "/off"} {
		if status, _ := ask(path, "other"); status != http.StatusForbidden {
			t.Errorf("%s, another upgrade: %d, want 403", path, status)
		}
		if status, _ := ask(path, "h2c"); status != http.StatusBadRequest {
			t.Errorf("%s, h2c: %d, want the answer of the workload to a request without upgrade", path, status)
		}
	}
}
