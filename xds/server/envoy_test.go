package server_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// forms runs a test in both forms of the protocol.
func forms(t *testing.T, f func(t *testing.T, form string)) {
	for _, form := range []string{syncstatus.Delta, syncstatus.StateOfTheWorld} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			f(t, form)
		})
	}
}

func fetch(c *http.Client, port uint32) (int, string, error) {
	resp, err := c.Get(fmt.Sprintf("http://127.0.0.1:%d/", port))
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get(envoytest.NameHeader), err
}

// client has connections of its own.
func client(t *testing.T) *http.Client {
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

func containsPort(body []byte, port uint32) bool {
	return strings.Contains(string(body), fmt.Sprintf("127.0.0.1:%d", port))
}

// load is requests one after the other, by several clients at once.
type load struct {
	sent, failed atomic.Int64
	first        atomic.Pointer[string] // what the first that failed came to
	stop         chan struct{}
	clients      sync.WaitGroup
}

// startLoad asks at a port of the sidecar, each client by what next gives it.
func startLoad(at uint32, next func() *http.Client) *load {
	l := &load{stop: make(chan struct{})}
	for range 4 {
		l.clients.Go(func() {
			for c := next(); ; {
				select {
				case <-l.stop:
					return
				default:
				}
				status, from, err := fetch(c, at)
				l.sent.Add(1)
				if err != nil || status != 200 {
					l.failed.Add(1)
					words := fmt.Sprint(status, from, err)
					l.first.CompareAndSwap(nil, &words)
				}
			}
		})
	}
	return l
}

// end wants that none failed of requests that were at least so many.
func (l *load) end(t *testing.T, least int64) {
	t.Helper()
	close(l.stop)
	l.clients.Wait()
	if l.failed.Load() > 0 {
		t.Errorf("%d of %d requests failed, the first with %s", l.failed.Load(), l.sent.Load(), *l.first.Load())
	}
	if l.sent.Load() < least {
		t.Errorf("only %d requests: no load", l.sent.Load())
	}
}

// TestBackendSwitchesUnderLoad: a route moves to a new cluster a hundred times
// under load, and not one request fails (spec/xds.md 4).
func TestBackendSwitchesUnderLoad(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web, a, b := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a"), envoytest.StartBackend(t, "b")
		at := envoytest.Port(t)
		p := serve(t, nil, exclusive, service("web", web.Port), service("a", a.Port), service("b", b.Port),
			member("web", web.Port), member("a", a.Port), member("b", b.Port), caller("front", map[uint32]string{at: "web"}), switched("b"))
		p.envoy("front", form)
		p.synced("front")

		l := startLoad(at, func() *http.Client { return client(t) })
		for i := range 100 {
			p.apply(switched([]string{"a", "b"}[i%2]))
			p.synced("front")
		}
		l.end(t, 200)
		if _, from, err := fetch(client(t), at); from != "b" || err != nil {
			t.Errorf("in the end %q answers (%v), want b", from, err)
		}
	})
}

// TestClusterChangeBecomesActive: a changed field of a cluster with endpoints of
// its own is in force without waiting for any timeout (spec/xds.md 5).
func TestClusterChangeBecomesActive(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web := envoytest.StartBackend(t, "web")
		at := envoytest.Port(t)
		p := serve(t, nil, exclusive, service("web", web.Port), member("web", web.Port), caller("front", map[uint32]string{at: "web"}))
		e := p.envoy("front", form)
		p.synced("front")
		for _, timeout := range []string{"2s", "3s", "2s"} {
			p.apply(connecting("web", timeout))
			e.Until("the cluster has "+timeout, func() bool {
				_, body, err := e.Get("/config_dump?resource=dynamic_active_clusters")
				return err == nil && strings.Contains(string(body), `"connect_timeout": "`+timeout+`"`)
			})
			p.synced("front")
		}
		for name, n := range e.Stats("cluster.web_8080.init_fetch_timeout") {
			if n > 0 {
				t.Errorf("%s is %d: the change became active only after a timeout", name, n)
			}
		}
		if status, _, err := fetch(client(t), at); status != 200 || err != nil {
			t.Errorf("then %d, %v", status, err)
		}
	})
}
