package server_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server"
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
// request fails: the listener changes only when what it names is there.
func TestAListenerSwitchesBetweenRequestsAndConnections(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web, a, b, c := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a"), envoytest.StartBackend(t, "b"), envoytest.StartBackend(t, "c")
		at := envoytest.Port(t)
		p := serve(t, nil, exclusive, service("web", web.Port), service("a", a.Port), service("b", b.Port), service("c", c.Port),
			member("web", web.Port), member("a", a.Port), member("b", b.Port), member("c", c.Port), caller("front", map[uint32]string{at: "web"}), connected("a"))
		p.envoy("front", form)
		p.synced("front")
		fresh := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		answers := func(want string) {
			t.Helper()
			if _, from, err := fetch(fresh, at); from != want || err != nil {
				t.Errorf("%q answers (%v), want %s", from, err, want)
			}
		}
		answers("a")

		l := startLoad(at, func() *http.Client { return fresh })
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
	})
}

// TestClustersOfADrainingListener: a cluster that a listener named goes only when
// the connections which the listener accepted have had their time.
func TestClustersOfADrainingListener(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	p := two(t, func(o *server.Options) { o.Drain = drain })
	c := p.delta("default.front", "")
	c.configure()
	p.synced("front")

	changed := time.Now()
	p.apply(connected("a"))
	cds := c.next("cds")
	c.ack(c.next("rds")) // its routes go, which Envoy keeps for as long as it has the listener
	c.ack(cds)
	c.ask("eds", nil, "a:8080")
	c.ack(c.next("eds"))
	c.ack(c.next("lds"))
	p.synced("front")
	cds = c.next("cds")
	if d := cmp.Diff([]string{"web:8080"}, cds.RemovedResources); d != "" || len(cds.Resources) > 0 {
		t.Errorf("removed (-want +got):\n%s\nand sent %v", d, resources(cds))
	}
	if after := time.Since(changed); after < drain {
		t.Errorf("its cluster went after %s", after)
	}
}
