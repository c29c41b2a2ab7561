package server_test

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
)

// checks has every endpoint checked; one that does not answer fails after a time.
func checks(timeout time.Duration) string {
	return fmt.Sprintf(`{"type":"MeshHealthCheck","mesh":"default","name":"checks","spec":{"to":[{"targetRef":{"kind":"Mesh"},"default":{"interval":"1m","timeout":%q,"unhealthyThreshold":1,"http":{}}}]}}`, timeout)
}

// TestRoutesWaitForTheFirstChecks: a route that leads to a new cluster comes once its endpoints were checked, or did
// not answer in time (spec/kinds.md 2).
func TestRoutesWaitForTheFirstChecks(t *testing.T) {
	t.Parallel()
	const timeout = 300 * time.Millisecond
	p := serve(t, nil, exclusive, service("web", 10001), service("a", 10002), member("web", 10001), member("a", 10002),
		caller("front", map[uint32]string{20001: "web"}), checks(timeout))
	c := p.front()
	p.apply(switched("a"))
	cds := c.next("cds")
	c.ack(cds)
	c.ask("eds", nil, "a:8080")
	eds := c.next("eds")
	began := time.Now()
	c.ack(eds)
	c.next("rds")
	if took := time.Since(began); took < timeout {
		t.Errorf("the route came after %v, want at least %v", took, timeout)
	}
}

// unanswering accepts connections, and says nothing.
func unanswering(t *testing.T) uint32 {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return uint32(l.Addr().(*net.TCPAddr).Port)
}

// TestSwitchesToCheckedServicesUnderLoad: one endpoint of each service never answers, its check fails, and not one
// request fails while a route moves between them (spec/kinds.md F14).
func TestSwitchesToCheckedServicesUnderLoad(t *testing.T) {
	t.Parallel()
	a, b := envoytest.StartBackend(t, "a"), envoytest.StartBackend(t, "b")
	at := envoytest.Port(t)
	documents := []string{exclusive, caller("front", map[uint32]string{at: "web"}), switched("a"), checks(500 * time.Millisecond), service("web", a.Port), member("web", a.Port)}
	for name, port := range map[string]uint32{"a": a.Port, "b": b.Port} {
		documents = append(documents, strings.Replace(service(name, port), "targetPort: "+fmt.Sprint(port), "targetPort: main", 1))
		for i, port := range []uint32{port, unanswering(t)} {
			documents = append(documents, fmt.Sprintf("type: Dataplane\nmesh: default\nname: %s-%d\nnetworking: {address: 127.0.0.1, inbound: [{name: main, port: %d, tags: {app: %s, kuma.io/service: %s, kuma.io/protocol: http}}]}\n", name, i, port, name, name))
		}
	}
	p := serve(t, nil, documents...)
	p.envoy("front", "delta")
	p.synced("front")
	l := startLoad(at, func() *http.Client { return client(t) })
	for i := range 20 {
		p.apply(switched([]string{"b", "a"}[i%2]))
		p.synced("front")
	}
	l.end(t, 200)
}
