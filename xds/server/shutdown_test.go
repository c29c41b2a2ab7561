package server_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/server"
)

// TestNothingIsLeft: after a shutdown no goroutine of the server is left, and
// the clients are told to turn to another.
func TestNothingIsLeft(t *testing.T) { // alone, for it looks at all goroutines
	p := two(t, nil)
	var clients []*delta
	for range 2 {
		c := p.delta("default.front", "")
		c.configure()
		clients = append(clients, c)
	}
	p.apply(switched("a")) // in the middle of something
	p.stop()
	for _, c := range clients {
		if code, _ := c.ended(); code.String() != "Unavailable" {
			t.Errorf("a stream ended with %v", code)
		}
	}
	deadline := time.Now().Add(patience)
	for {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		if !strings.Contains(string(stacks), "xds/server.") && !strings.Contains(string(stacks), "server/delta") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind:\n%s", stacks)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestSlowReader: clients that do not read hold back nobody but themselves.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	p := serve(t, func(o *server.Options) { o.Sends = 1 }, exclusive, service("web", 10001), service("a", 10002),
		member("web", 10001), member("a", 10002), caller("slow", wide()), caller("front", map[uint32]string{20001: "web"}))
	conn := dial(t, p.addr)
	for range 2 {
		s := p.unread(conn, "default.slow")
		s("lds", "cds") // the first is more than the windows hold, so the second waits
	}
	c := p.delta("default.front", "")
	c.configure()
	for n := range 5 {
		p.apply(retries(n + 1))
		c.ack(c.next("rds"))
	}
	p.synced("front")
}

// wide are so many outbounds that their listeners fill every window.
func wide() map[uint32]string {
	out := map[uint32]string{}
	for i := range uint32(400) {
		out[21000+i] = "web"
	}
	return out
}

// TestEnvoyAfterRestart: an Envoy that reconnects to a control plane which knows
// nothing of it serves on, and loses what was deleted meanwhile.
func TestEnvoyAfterRestart(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web, a := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "a")
		at, more := envoytest.Port(t), envoytest.Port(t)
		p := serve(t, func(o *server.Options) { o.Drain = 0 }, exclusive, service("web", web.Port), service("a", a.Port),
			member("web", web.Port), member("a", a.Port), caller("front", map[uint32]string{at: "web", more: "a"}))
		e := p.envoy("front", form)
		p.synced("front")
		p.stop()
		if status, _, err := fetch(client(t), more); status != 200 || err != nil {
			t.Errorf("without control plane: %d, %v", status, err)
		}
		p.start()
		p.change(caller("front", map[uint32]string{at: "web"}))
		p.Publish(p.model, everybody)
		p.synced("front")
		_, body, err := e.Get("/listeners")
		if err != nil || containsPort(body, more) || !containsPort(body, at) {
			t.Errorf("listeners %s, %v", body, err)
		}
		e.Until("the cluster is gone", func() bool {
			_, body, err := e.Get("/config_dump?resource=dynamic_active_clusters")
			return err == nil && !strings.Contains(string(body), "a:8080")
		})
		if status, from, err := fetch(client(t), at); status != 200 || from != "web" || err != nil {
			t.Errorf("then %d from %q, %v", status, from, err)
		}
	})
}
