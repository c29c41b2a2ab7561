package server_test

import (
	"testing"
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/xds/server"
)

// two is a world of a caller and two services; the numbers are never called.
func two(t testing.TB, change func(*server.Options)) *plane {
	return serve(t, change, exclusive, service("web", 10001), service("a", 10002), member("web", 10001), member("a", 10002),
		caller("front", map[uint32]string{20001: "web"}), caller("other", map[uint32]string{20002: "a"}))
}

// TestPhases: clusters and endpoints first, routes when those are confirmed,
// and the old cluster goes when no route can name it any more.
func TestPhases(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.front()

	p.apply(switched("a"))
	cds := c.next("cds")
	if d := cmp.Diff([]string{"a:8080"}, resources(cds)); d != "" {
		t.Fatalf("clusters (-want +got):\n%s", d)
	}
	c.quiet("a route before its cluster is confirmed")
	c.ack(cds)
	c.quiet("a route before the endpoints of its cluster are there")
	c.ask("eds", nil, "a:8080")
	eds := c.next("eds")
	c.quiet("a route before the endpoints of its cluster are confirmed")
	c.ack(eds)
	rds := c.next("rds")
	if s, _ := p.Status(dataplaneRef("front")); s.InSync || s.Acked != 1 {
		t.Errorf("in sync before the route is confirmed: %+v", s)
	}
	c.quiet("a cluster is removed before the route is confirmed")
	c.ack(rds)
	cds = c.next("cds")
	if d := cmp.Diff([]string{"web:8080"}, cds.RemovedResources); d != "" || len(cds.Resources) > 0 {
		t.Errorf("removed (-want +got):\n%s\nand sent %v", d, resources(cds))
	}
	c.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: short["eds"], ResourceNamesUnsubscribe: []string{"web:8080"}})
	c.ack(cds)
	p.synced("front")
	c.quiet("all is done")
}

// TestRoutesWaitNotForEver: a client that never confirms a cluster gets its
// routes all the same.
func TestRoutesWaitNotForEver(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.HoldRoutes = 50 * time.Millisecond })
	c := p.delta("default.front", "")
	c.configure()
	p.apply(switched("a"))
	c.next("cds")
	c.next("rds")
	if s, _ := p.Status(dataplaneRef("front")); s.Note == "" || s.InSync {
		t.Errorf("status does not say what was not confirmed: %+v", s)
	}
}

// TestOnlyTheAffectedAreTold: what does not concern a sidecar sends it nothing,
// and a change of a route touches no listener.
func TestOnlyTheAffectedAreTold(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	front, other := p.delta("default.front", ""), p.delta("default.other", "")
	front.configure()
	other.configure()
	p.apply(retries(3))
	r := front.next("rds")
	if d := cmp.Diff([]string{"outbound:web:8080"}, resources(r)); d != "" {
		t.Errorf("routes (-want +got):\n%s", d)
	}
	front.ack(r)
	front.quiet("a change of a route")
	other.quiet("a change that does not concern it")
	if s := p.synced("other"); s.Published != p.snapshot.Revision() {
		t.Errorf("whom nothing concerns is behind: %+v", s)
	}
	p.apply(retries(3)) // the same again
	front.quiet("no change")
}

// TestLatestWins: while a response is on its way, publications coalesce.
func TestLatestWins(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.front()
	p.apply(retries(1))
	first := c.next("rds")
	for n := range 20 {
		p.apply(retries(2 + n))
	}
	c.quiet("a second response before the first is answered")
	c.ack(first)
	c.ack(c.next("rds"))
	p.synced("front")
	c.quiet("all states in between")
}

// TestDataplaneThatDoesNotExist: its sidecar waits, is told why, and is served
// when the dataplane appears; when it goes, the sidecar keeps what it has.
func TestDataplaneThatDoesNotExist(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.delta("default.late", "")
	c.ask("cds", nil)
	c.quiet("a dataplane that does not exist")
	if s, _ := p.Status(dataplaneRef("late")); s.Note == "" || s.InSync || !s.Connected {
		t.Errorf("status does not say what is missing: %+v", s)
	}
	p.apply(caller("late", map[uint32]string{20003: "a"}))
	r := c.next("cds")
	if d := cmp.Diff([]string{"a:8080"}, resources(r)); d != "" {
		t.Errorf("clusters (-want +got):\n%s", d)
	}
	c.ack(r)
	p.remove(dataplaneRef("late"))
	c.quiet("a dataplane that was deleted")
	if s, _ := p.Status(dataplaneRef("late")); s.Note == "" {
		t.Errorf("status does not say that it is deleted: %+v", s)
	}
}

// TestReconnect: what the client brings along and has not changed is not sent
// again; what it has and should not is removed, after the control plane
// restarted too, as soon as no listener can drain that needs it.
func TestReconnect(t *testing.T) {
	t.Parallel()
	const drain = 300 * time.Millisecond
	p := two(t, func(o *server.Options) { o.Drain = drain })
	c := p.delta("default.front", "")
	have := c.configure()
	p.synced("front")
	c.end()
	p.restart(switched("a"))

	c = p.delta("default.front", "")
	have["cds"]["orphan"], have["lds"]["orphan"], have["rds"]["orphan"] = "1", "1", "1"
	reconnected := time.Now()
	c.ask("cds", have["cds"])
	cds := c.next("cds")
	if d := cmp.Diff([]string{"a:8080"}, resources(cds)); d != "" {
		t.Errorf("clusters (-want +got):\n%s", d)
	}
	c.ack(cds)
	c.ask("eds", have["eds"], "a:8080", "web:8080")
	c.ack(c.next("eds"))
	c.ask("lds", have["lds"])
	lds := c.next("lds")
	if d := cmp.Diff([]string{"orphan"}, lds.RemovedResources); d != "" || len(lds.Resources) > 0 {
		t.Errorf("removed listeners (-want +got):\n%s\nand sent %v", d, resources(lds))
	}
	c.ack(lds)
	c.quiet("clusters are removed before the routes are there")
	c.ask("rds", have["rds"], "outbound:web:8080", "orphan")
	c.ack(c.next("rds"))
	rds := c.next("rds")
	if d := cmp.Diff([]string{"orphan"}, rds.RemovedResources); d != "" || len(rds.Resources) > 0 {
		t.Errorf("removed routes (-want +got):\n%s\nand sent %v", d, resources(rds))
	}
	if after := time.Since(reconnected); after < drain {
		t.Errorf("what a draining listener may need went after %s", after)
	}
	c.quiet("clusters are removed before the routes")
	c.ack(rds)
	cds = c.next("cds")
	if d := cmp.Diff([]string{"orphan", "web:8080"}, cds.RemovedResources); d != "" || len(cds.Resources) > 0 {
		t.Errorf("removed clusters (-want +got):\n%s\nand sent %v", d, resources(cds))
	}
}

// TestNotReady: before the first publication nobody is given an empty configuration.
func TestNotReady(t *testing.T) {
	t.Parallel()
	p := silent(t, nil)
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	if code, n := c.ended(); code.String() != "Unavailable" || n > 0 {
		t.Errorf("ended with %v after %d responses", code, n)
	}
}

// TestSplit: what is too large for one response comes in several, each after
// the one before was confirmed.
func TestSplit(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.ResponseBytes = 1 })
	p.apply(caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	for _, want := range []string{"a:8080", "web:8080"} {
		r := c.next("cds")
		if d := cmp.Diff([]string{want}, resources(r)); d != "" {
			t.Fatalf("(-want +got):\n%s", d)
		}
		c.quiet("more before that is confirmed")
		c.ack(r)
	}
	c.quiet("more than there is")
	c.ask("lds", nil)
	if r := c.next("lds"); len(r.Resources) != 2 {
		t.Errorf("listeners come in parts: %v", resources(r))
	}
}

// TestStreamsPerIdentity: two streams, for a sidecar that restarts; no third.
func TestStreamsPerIdentity(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	for range 2 {
		c := p.delta("default.front", "")
		c.ask("cds", nil)
		c.next("cds")
	}
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	if code, _ := c.ended(); code.String() != "ResourceExhausted" {
		t.Errorf("a third stream ended with %v", code)
	}
	if s, _ := p.Status(dataplaneRef("front")); s.Streams != 2 {
		t.Errorf("status: %+v", s)
	}
	if n := len(collectPeers(p)); n != 1 {
		t.Errorf("%d peers, want 1", n)
	}
}

func collectPeers(p *plane) (out []api.Ref) {
	for s := range p.Peers() {
		out = append(out, s.Dataplane)
	}
	return out
}
