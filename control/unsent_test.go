package control_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/route"
)

// defaultRetry repeats what the policy repeats that comes with a mesh.
const defaultRetry = `type: MeshRetry
mesh: default
name: mesh-retry-all-default
spec:
  to:
    - targetRef: {kind: Mesh}
      default: {http: {numRetries: 5, retryOn: [ConnectFailure, RefusedStream], backOff: {baseInterval: 1ms}}}
---
`

// served is a workload that counts requests for /lie, and answers them as a sidecar would that could not send them on.
type served struct {
	*httptest.Server
	lies atomic.Int32
}

func newServed(t *testing.T) *served {
	s := &served{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/lie" {
			s.lies.Add(1)
			w.Header().Set(route.UnsentHeader, "true")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "served")
	}))
	t.Cleanup(s.Close)
	return s
}

// instance is a Dataplane of stock at a loopback address, with a workload at a port.
func instance(name, address string, inbound, workload uint32) string {
	return fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s\nnetworking:\n  address: %s\n  inbound: [{port: %d, serviceAddress: 127.0.0.1, servicePort: %d, tags: {kuma.io/service: stock, kuma.io/protocol: http}}]\n---\n", name, address, inbound, workload)
}

// asker sends requests to a port of this host, and wants no answer with the mark.
func asker(t *testing.T, port uint32) func(method, path, contentType string) (status int, body string) {
	return func(method, path, contentType string) (status int, body string) {
		req, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", contentType)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Error(err)
		}
		if resp.Header.Get(route.UnsentHeader) != "" {
			t.Errorf("%s %s: the application sees %v", method, path, resp.Header)
		}
		return resp.StatusCode, string(text)
	}
}

// TestAWorkloadThatIsDownCostsNoRequest (121): of two instances of a service one has a sidecar and no workload. What
// that sidecar cannot send on is repeated at the other, whatever the method; the mark by which callers know it comes
// from no workload and reaches no application.
func TestAWorkloadThatIsDownCostsNoRequest(t *testing.T) {
	t.Parallel()
	p := secure(t, discard())
	t.Cleanup(p.stop)
	cl, workload := newMember(t, "cl", "cl", "stock"), newServed(t)
	p.want(http.StatusOK, http.MethodPost, "/_apply", allowed+defaultRetry+cl.document+
		instance("up", "127.0.0.2", envoytest.Port(t), uint32(workload.Listener.Addr().(*net.TCPAddr).Port))+instance("down", "127.0.0.3", envoytest.Port(t), envoytest.Port(t)))
	for _, name := range []string{"up", "down", "cl"} {
		p.sidecar(name, p.dataplaneToken(name, ""), discard())
	}
	ask := asker(t, cl.outbound)
	eventually(t, "stock answers and all are in sync", func() bool {
		_, body := ask(http.MethodGet, "/", "text/plain")
		return body == "served" && p.InSync("cl") && p.InSync("down") && p.InSync("up")
	})
	for n := range 20 {
		for _, contentType := range []string{"text/plain", "application/grpc"} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if status, body := ask(method, "/", contentType); status != http.StatusOK || body != "served" {
					t.Errorf("call %d, %s of %s: %d %q", n, method, contentType, status, body)
				}
			}
		}
		if status, _ := ask(http.MethodPost, "/lie", "text/plain"); status != http.StatusServiceUnavailable {
			t.Errorf("call %d that a workload says was not sent: %d", n, status)
		}
	}
	if lies := workload.lies.Load(); lies != 20 {
		t.Errorf("20 requests came to the workload %d times", lies)
	}
	workload.Close()
	if status, _ := ask(http.MethodGet, "/", "text/plain"); status != http.StatusServiceUnavailable {
		t.Errorf("with no workload at all: %d", status)
	}
}
