package control_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/inspect/conditions"
	"github.com/weftmesh/weft/internal/envoytest"
)

// failingEndpoints are problems of endpoints by whose they are.
func (p *plane) failingEndpoints() map[string]string {
	p.t.Helper()
	out := map[string]string{}
	for _, o := range get[struct{ Items []conditions.ProblemOwner }](p, "/_problems").Items {
		for _, x := range o.Problems {
			if x.Code == "EndpointFails" {
				out[o.Owner] = x.Message
			}
		}
	}
	return out
}

// TestEndpointsThatFail: of two services with four endpoints each a real Envoy calls, one answers 503 at one of them
// and of the other one nobody listens there. Those two endpoints are problems of their dataplanes, with what fails
// there, and no other is: also where requests are repeated, so that none of them fails.
func TestEndpointsThatFail(t *testing.T) {
	t.Parallel()
	c := config(t)
	c.ReportEvery = 2 * time.Second
	p := start(t, c)
	answers := func(status int) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		s.Config.Protocols = new(http.Protocols)
		s.Config.Protocols.SetUnencryptedHTTP2(true) // as sidecars call each other
		s.Start()
		t.Cleanup(s.Close)
		_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
		return port
	}
	shop, stock := envoytest.Port(t), envoytest.Port(t)
	documents := fmt.Sprintf(`type: Dataplane
mesh: default
name: front-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {kuma.io/service: front, kuma.io/protocol: http}}], outbound: [{port: %d, tags: {kuma.io/service: shop}}, {port: %d, tags: {kuma.io/service: stock}}]}
---
{type: MeshRetry, mesh: default, name: again, spec: {to: [{targetRef: {kind: MeshService, name: shop}, default: {http: {numRetries: 3, retryOn: [5xx], backOff: {baseInterval: 1ms, maxInterval: 1ms}}}}]}}
`, envoytest.Port(t), shop, stock)
	for n := range 4 {
		at := map[string]string{"shop": answers(200), "stock": answers(200)}
		if n == 2 {
			at["shop"], at["stock"] = answers(503), fmt.Sprint(envoytest.Port(t))
		}
		for service, port := range at {
			documents += fmt.Sprintf("---\n{type: Dataplane, mesh: default, name: %s-%d, networking: {address: 127.0.0.1, inbound: [{port: %s, tags: {kuma.io/service: %[1]s, kuma.io/protocol: http}}]}}\n", service, n, port)
		}
	}
	p.want(http.StatusOK, http.MethodPost, "/_apply", documents)
	p.runs("front-1")
	eventually(t, "its first report", func() bool {
		return strings.Contains(p.want(http.StatusOK, http.MethodGet, "/metrics", ""), "\nweft_traffic_sidecars 1\n")
	})
	failed, sent := 0, 0
	for end := time.Now().Add(90 * time.Second); ; {
		for _, port := range []uint32{shop, stock} {
			q := envoytest.Wire{Version: "1.1", Method: "GET", Target: "/", Authority: "any"}
			if err := envoytest.Flood(fmt.Sprintf("127.0.0.1:%d", port), q, 40, func(r *http.Response) {
				switch {
				case port != shop:
				case r.StatusCode == http.StatusOK:
					sent++
				default: // each of four attempts was at the same endpoint
					failed++
				}
			}); err != nil {
				t.Fatal(err)
			}
		}
		got := p.failingEndpoints()
		if shop, stock := got["Dataplane/default/shop-2"], got["Dataplane/default/stock-2"]; len(got) == 2 && strings.Contains(shop, "(dataplane shop-2) of service shop fails ") && strings.Contains(shop, "its 3 siblings 0.0 %; most often: answered with 5xx") &&
			strings.Contains(stock, "(dataplane stock-2) of service stock fails ") && strings.Contains(stock, "most often: no connection") {
			t.Log(shop)
			t.Log(stock)
			break
		}
		if time.Now().After(end) {
			t.Fatalf("problems of endpoints are %v", got)
		}
		time.Sleep(500 * time.Millisecond)
	}
	if 20*failed > sent {
		t.Errorf("%d requests failed that are repeated, and %d did not", failed, sent)
	}
}
