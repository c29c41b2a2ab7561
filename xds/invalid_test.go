package xds_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve/effective"
)

// TestAnInvalidRequestEndsAlone: what a caller's sidecar takes in HTTP/1.1, and that
// of the workload does not in HTTP/2, ends none of the requests that share the
// connection between the two.
func TestAnInvalidRequestEndsAlone(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	t.Cleanup(app.Close)
	in := &effective.Inbound{
		Address: "127.0.0.1", Port: envoytest.Port(t), ServiceAddress: "127.0.0.1",
		ServicePort: uint32(app.Listener.Addr().(*net.TCPAddr).Port), Protocol: api.HTTP,
	}
	envoytest.Drive(t, renderer().Render(sidecar(nil, nil, in)))
	hop := use("web:8080", web(), effective.Endpoint{Address: in.Address, Port: in.Port})
	hop.Cluster.HTTP2 = true
	client := sidecar(nil, []effective.ClusterUse{hop})
	out := outbound(t, table(), nil)
	client.Outbounds = []*effective.Outbound{out}
	envoytest.Drive(t, renderer().Render(client))
	at := fmt.Sprintf("127.0.0.1:%d", out.Port)
	ask := func(host string, lines ...envoytest.Line) int {
		reply, err := envoytest.Send(at, envoytest.Wire{Version: "1.1", Method: "GET", Target: "/", Authority: host, Lines: lines})
		if err != nil {
			t.Error(err)
			return 0
		}
		return reply.Status
	}
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			if status := ask("web"); status != http.StatusOK {
				t.Errorf("a request that shares the connection: status %d", status)
			}
		})
		<-arrived
	}
	for _, bad := range []struct {
		host  string
		lines []envoytest.Line
	}{
		{"user@web", nil}, {"", nil}, {"web", []envoytest.Line{{Name: "te", Value: ""}}},
	} {
		if status := ask(bad.host, bad.lines...); status != http.StatusBadGateway {
			t.Errorf("host %q %v: status %d, want 502", bad.host, bad.lines, status)
		}
	}
	close(release)
	others.Wait()
}
