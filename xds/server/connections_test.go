package server_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/authn"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// connected is the route for whole connections to web, which leads to backend.
func connected(backend string) string {
	return fmt.Sprintf(`type: MeshTCPRoute
mesh: default
name: to-web
spec:
  to:
  - targetRef: {kind: MeshService, name: web}
    rules: [{default: {backendRefs: [{kind: MeshService, name: %s, port: 8080}]}}]
`, backend)
}

// TestAListenerSwitchesBetweenRequestsAndConnections: routes for requests come and
// go beside one for connections, which also moves to other clusters, and not one
// request fails, neither on new connections nor on those that earlier listeners
// accepted: a listener changes only when what it names is there, which stays for as
// long as the listener drains.
func TestAListenerSwitchesBetweenRequestsAndConnections(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web, a, b, c := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a"), envoytest.StartBackend(t, "b"), envoytest.StartBackend(t, "c")
		at := envoytest.Port(t)
		p := serve(t, nil, exclusive, service("web", web.Port), service("a", a.Port), service("b", b.Port), service("c", c.Port),
			member("web", web.Port), member("a", a.Port), member("b", b.Port), member("c", c.Port), caller("front", map[uint32]string{at: "web"}), connected("a"))
		e := p.envoy("front", form)
		p.synced("front")
		fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		// Envoy confirms a listener before its workers take connections by it, and those of the
		// listener before it go on until they do: for that moment either may answer.
		answers := func(want string) {
			t.Helper()
			for deadline := time.Now().Add(patience); ; {
				_, from, err := fetch(fresh, at)
				if from == want {
					return
				}
				if err != nil || time.Now().After(deadline) {
					t.Errorf("%q answers (%v), want %s", from, err, want)
					return
				}
			}
		}
		answers("a")

		var clients atomic.Int32
		l := startLoad(at, func() *http.Client {
			if clients.Add(1)%2 == 0 {
				return client(t)
			}
			return fresh
		})
		for i := range 20 {
			p.apply(switched("b"))
			p.synced("front")
			if i == 0 {
				answers("b")
			}
			p.apply(connected([]string{"c", "a"}[i%2]))
			p.remove(api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "to-web"})
			p.synced("front")
		}
		l.end(t, 40)
		answers("a")
		if n := e.Stats("listener_manager.total_listeners_draining")["listener_manager.total_listeners_draining"]; n == 0 {
			t.Error("no listener drains: nothing used an earlier one")
		}
	})
}

// TestADrainingListenerOutlivesTheControlPlane: an Envoy that reconnects while a
// listener drains keeps what that names, though no one told the new control plane of it.
func TestADrainingListenerOutlivesTheControlPlane(t *testing.T) {
	t.Parallel()
	web, a := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a")
	at := envoytest.Port(t)
	p := serve(t, nil, exclusive, service("web", web.Port), service("a", a.Port), member("web", web.Port), member("a", a.Port),
		caller("front", map[uint32]string{at: "web"}))
	p.envoy("front", syncstatus.Delta)
	p.synced("front")
	kept := client(t)
	from := func(when, want string) {
		t.Helper()
		if status, name, err := fetch(kept, at); status != 200 || name != want || err != nil {
			t.Errorf("%s: %d from %q (%v), want %s", when, status, name, err, want)
		}
	}
	from("at first", "web")
	p.apply(connected("a"))
	p.synced("front")
	from("while its listener drains", "web")
	p.restart()
	p.synced("front")
	for range 10 {
		from("after the restart", "web")
	}
	kept.CloseIdleConnections()
	from("on a new connection", "a") // workers have long followed: the rest took a restart
}

// anyoneBy lets in whoever comes, by one token.
type anyoneBy struct{ token string }

func (a anyoneBy) Authenticate(context.Context, string) (authn.Identity, error) {
	return authn.Identity{Token: a.token}, nil
}

// TestADrainingListenerOutlivesItsStream: in either form, for the same control plane
// knows what the stream before kept.
func TestADrainingListenerOutlivesItsStream(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web, a := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a")
		at := envoytest.Port(t)
		p := serve(t, func(o *server.Options) { o.Authenticator = anyoneBy{"t"} }, exclusive, service("web", web.Port), service("a", a.Port),
			member("web", web.Port), member("a", a.Port), caller("front", map[uint32]string{at: "web"}))
		p.envoy("front", form)
		p.synced("front")
		kept := client(t)
		if _, from, err := fetch(kept, at); from != "web" || err != nil {
			t.Fatalf("at first %q (%v)", from, err)
		}
		p.apply(connected("a"))
		since := p.synced("front").Since
		for range 2 { // what it goes on with it also leaves to the next
			p.Revoke("t")
			p.until("front", "is back", func(s syncstatus.Status) bool { return s.Connected && s.Since.After(since) })
			since = p.synced("front").Since
		}
		for range 10 {
			if status, from, err := fetch(kept, at); status != 200 || from != "web" || err != nil {
				t.Errorf("through the draining listener: %d from %q (%v), want web", status, from, err)
			}
		}
	})
}

// TestRoutesAndClustersOfADrainingListener: what a listener named goes only when the
// connections which the listener accepted have had their time, routes before clusters.
func TestRoutesAndClustersOfADrainingListener(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	p := two(t, func(o *server.Options) { o.Drain = drain })
	c := p.front()

	changed := time.Now()
	p.apply(connected("a"))
	c.ack(c.next("cds"))
	c.ask("eds", nil, "a:8080")
	c.ack(c.next("eds"))
	lds := c.next("lds")
	c.quiet("its routes go before the listener that leads elsewhere is confirmed")
	c.ack(lds)
	p.synced("front")
	rds := c.next("rds")
	if d := cmp.Diff([]string{"outbound:web:8080"}, rds.RemovedResources); d != "" || len(rds.Resources) > 0 {
		t.Errorf("removed (-want +got):\n%s\nand sent %v", d, resources(rds))
	}
	if after := time.Since(changed); after < drain {
		t.Errorf("its routes went after %s", after)
	}
	c.quiet("clusters go before the routes that name them")
	c.ack(rds)
	cds := c.next("cds")
	if d := cmp.Diff([]string{"web:8080"}, cds.RemovedResources); d != "" || len(cds.Resources) > 0 {
		t.Errorf("removed (-want +got):\n%s\nand sent %v", d, resources(cds))
	}
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: short["eds"], ResourceNamesUnsubscribe: []string{"web:8080"}})
	c.ack(cds)
	c.quiet("all is done")
}

// TestFirstRoutesWaitForTheirClusters: a sidecar of which nobody told requests apart
// so far asks for its first routes while it serves, so they wait as all others do.
func TestFirstRoutesWaitForTheirClusters(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	p.apply(connected("web"))
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	c.ack(c.next("cds"))
	c.ask("eds", nil, "web:8080")
	c.ack(c.next("eds"))
	c.ask("lds", nil)
	c.ack(c.next("lds"))
	p.synced("front")

	p.apply(switched("a"))
	cds := c.next("cds")
	c.ack(c.next("lds"))
	c.ask("rds", nil, "outbound:web:8080")
	c.quiet("a route before its cluster is confirmed")
	c.ack(cds)
	c.ask("eds", nil, "a:8080")
	eds := c.next("eds")
	c.quiet("a route before the endpoints of its cluster are confirmed")
	c.ack(eds)
	c.ack(c.next("rds"))
	p.synced("front")
}
