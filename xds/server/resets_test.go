package server_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// TestManyStreamsAreReset: one connection by HTTP/2, to a service or to an inbound, outlives more
// streams that are reset after their answer has begun than Envoy allows by default, which would end
// those of others with it. So do WebSockets between sidecars end, and calls that are given up.
func TestManyStreamsAreReset(t *testing.T) {
	t.Parallel()
	const resets = 2000 // of 1,000, and 33 a second
	workload := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // to a client that may have gone
		<-r.Context().Done()
	}))
	t.Cleanup(workload.Close)
	inbound, outbound := envoytest.Port(t), envoytest.Port(t)
	p := serve(t, nil, exclusive, service("web", inbound), fmt.Sprintf(`type: Dataplane
mesh: default
name: web-1
networking:
  address: 127.0.0.1
  inbound: [{port: %d, servicePort: %d, tags: {kuma.io/service: web, app: web, kuma.io/protocol: http}}]
  outbound: [{port: %d, tags: {kuma.io/service: web}}]
`, inbound, workload.Listener.Addr().(*net.TCPAddr).Port, outbound))
	p.envoy("web-1", syncstatus.Delta)
	p.synced("web-1")
	for what, at := range map[string]uint32{"inbound": inbound, "outbound": outbound} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			var dials atomic.Int32
			transport := &http.Transport{Protocols: new(http.Protocols), DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return new(net.Dialer).DialContext(ctx, network, address)
			}}
			transport.Protocols.SetUnencryptedHTTP2(true)
			t.Cleanup(transport.CloseIdleConnections)
			giveUp := func() error {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				q, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/", at), nil)
				if err != nil {
					return err
				}
				resp, err := transport.RoundTrip(q)
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					return fmt.Errorf("answered %s", resp.Status)
				}
				return nil
			}
			if err := giveUp(); err != nil { // which makes the connection
				t.Fatal(err)
			}
			var clients sync.WaitGroup
			for range 8 {
				clients.Go(func() {
					for range resets / 8 {
						if err := giveUp(); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			if clients.Wait(); dials.Load() != 1 {
				t.Errorf("%d connections, want one", dials.Load())
			}
		})
	}
}
