package policytest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
)

// Proxy is an Envoy that runs what Bootstrap makes of confs.
type Proxy struct {
	*envoytest.Envoy
	Socket string // of the HTTP listener; that of TCP listener i is this and its index
	client *http.Client
}

// StartProxy runs an Envoy with a virtual host, and a TCP listener, for each of written.
func StartProxy(t testing.TB, port uint32, kinds []*policies.Kind, written ...Written) *Proxy {
	t.Helper()
	p := &Proxy{Socket: envoytest.Socket(t)}
	p.Envoy = envoytest.Start(t, p.Socket+"-admin", Bootstrap(t, p.Socket, "127.0.0.1", port, kinds, written...)).Ready()
	p.client = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", p.Socket)
		}},
	}
	t.Cleanup(p.client.CloseIdleConnections)
	return p
}

// Statuses holds the answers to n requests of the socket of a number against the statuses that are wanted, with
// spaces between them: each of these comes, and no other.
func (p *Proxy) Statuses(t testing.TB, i, n int, name, want string) {
	t.Helper()
	got := map[string]bool{}
	for range n {
		got[strconv.Itoa(p.Send(t, i, "GET").StatusCode)] = true
	}
	for _, status := range strings.Fields(want) {
		if !got[status] {
			t.Errorf("%s: no answer is %s, of %v", name, status, got)
		}
		delete(got, status)
	}
	if len(got) > 0 {
		t.Errorf("%s: %v beside %s", name, got, want)
	}
}

// Send sends a request to virtual host i. Headers are names and values in turn.
func (p *Proxy) Send(t testing.TB, i int, method string, headers ...string) *http.Response {
	t.Helper()
	q, err := http.NewRequest(method, fmt.Sprintf("http://%02d/", i), nil)
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(headers); n += 2 {
		q.Header.Set(headers[n], headers[n+1])
	}
	resp, err := p.client.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // nobody reads the text
	_ = resp.Body.Close()
	return resp
}
