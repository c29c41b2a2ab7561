package server_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
)

// whole is a client of the state-of-the-world form that does only what a test says.
type whole struct {
	t      testing.TB
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	node   *corev3.Node
	got    chan *discoveryv3.DiscoveryResponse // closed at the end of the stream
	names  map[string][]string                 // what it subscribes to, by kind
	last   map[string]string                   // the version that it confirmed, by kind
}

func (p *plane) whole(id string) *whole {
	p.t.Helper()
	ctx, end := context.WithCancel(context.Background())
	p.t.Cleanup(end)
	s, err := discoveryv3.NewAggregatedDiscoveryServiceClient(dial(p.t, p.addr)).StreamAggregatedResources(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	c := &whole{t: p.t, stream: s, node: node(id), got: make(chan *discoveryv3.DiscoveryResponse, 100), names: map[string][]string{}, last: map[string]string{}}
	go func() {
		defer close(c.got)
		for r, err := s.Recv(); err == nil; r, err = s.Recv() {
			c.got <- r
		}
	}()
	return c
}

func (c *whole) send(kind, nonce string, refusal *status.Status) {
	q := &discoveryv3.DiscoveryRequest{Node: c.node, TypeUrl: short[kind], VersionInfo: c.last[kind], ResourceNames: c.names[kind], ResponseNonce: nonce, ErrorDetail: refusal}
	c.node = nil
	_ = c.stream.Send(q) // a broken stream shows where the test reads
}

// ask subscribes: to everything without names.
func (c *whole) ask(kind, nonce string, names ...string) {
	c.names[kind] = names
	c.send(kind, nonce, nil)
}

func (c *whole) ack(r *discoveryv3.DiscoveryResponse) {
	c.last[kindOf(r.TypeUrl)] = r.VersionInfo
	c.send(kindOf(r.TypeUrl), r.Nonce, nil)
}

func (c *whole) nack(r *discoveryv3.DiscoveryResponse) {
	c.send(kindOf(r.TypeUrl), r.Nonce, &status.Status{Code: int32(codes.InvalidArgument), Message: "no"})
}

// next is the next response, which must be of a kind.
func (c *whole) next(kind string) (r *discoveryv3.DiscoveryResponse, content map[string]string) {
	c.t.Helper()
	select {
	case r, ok := <-c.got:
		if !ok || r.TypeUrl != short[kind] {
			c.t.Fatalf("a response of %q, want %s", r.GetTypeUrl(), kind)
		}
		content = map[string]string{}
		for _, a := range r.Resources {
			content[nameOf(a)] = string(a.Value)
		}
		return r, content
	case <-time.After(patience):
		c.t.Fatalf("no response of %s", kind)
		return nil, nil
	}
}

// quiet fails if there is, or soon comes, a response.
func (c *whole) quiet(why string) {
	c.t.Helper()
	select {
	case r := <-c.got:
		c.t.Fatalf("%s: response of %q with %d resources", why, r.GetTypeUrl(), len(r.GetResources()))
	case <-time.After(100 * time.Millisecond):
	}
}

// holds demands that a response has exactly the resources.
func (c *whole) holds(content map[string]string, want ...string) {
	c.t.Helper()
	var got []string
	for name := range content {
		got = append(got, name)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		c.t.Errorf("-want +got:\n%s", d)
	}
}

// configured has what it needs of everything, for outbounds to web.
func (p *plane) configured(id string) *whole {
	p.t.Helper()
	c := p.whole(id)
	for _, step := range []struct {
		kind  string
		names []string
	}{{"cds", nil}, {"eds", []string{"web:8080"}}, {"lds", nil}, {"rds", []string{"outbound:web:8080"}}} {
		c.ask(step.kind, "", step.names...)
		r, _ := c.next(step.kind)
		c.ack(r)
	}
	c.quiet("it has everything")
	return c
}

// TestPhasesOfTheWhole: in the form that sends the state of the world too, a
// listener waits for its cluster, a route for that and its endpoints, and the
// old cluster stays until no route can name it.
func TestPhasesOfTheWhole(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.configured("default.front")
	p.apply(switched("a"))
	cds, content := c.next("cds")
	c.holds(content, "a:8080", "web:8080")
	c.quiet("a route before its cluster is confirmed")
	c.ack(cds)
	c.quiet("a route before the endpoints of its cluster are there")
	c.ask("eds", "", "a:8080", "web:8080")
	eds, content := c.next("eds")
	c.holds(content, "a:8080")
	c.ack(eds)
	rds, _ := c.next("rds")
	c.quiet("a cluster goes before the route is confirmed")
	c.ack(rds)
	cds, content = c.next("cds")
	c.holds(content, "a:8080")
	c.ack(cds)
	c.ask("eds", "", "a:8080")
	p.synced("front")
}

func TestAListenerOfConnectionsWaitsForItsClusterInTheWhole(t *testing.T) {
	t.Parallel()
	tcp := strings.ReplaceAll(service("raw", 10003), "appProtocol: http", "appProtocol: tcp")
	p := serve(t, nil, exclusive, service("web", 10001), tcp, member("web", 10001), member("raw", 10003), caller("front", map[uint32]string{20001: "web"}))
	c := p.configured("default.front")
	p.apply(caller("front", map[uint32]string{20001: "web", 20003: "raw"}))
	cds, content := c.next("cds")
	c.holds(content, "raw:8080", "web:8080")
	c.quiet("a listener before its cluster is confirmed")
	c.ack(cds)
	c.ask("eds", "", "raw:8080", "web:8080")
	eds, _ := c.next("eds")
	c.quiet("a listener before the endpoints of its cluster are confirmed")
	c.ack(eds)
	lds, content := c.next("lds")
	if len(content) != 2 {
		t.Errorf("%d listeners", len(content))
	}
	c.ack(lds)
}

// TestWhatWasRefusedStaysAsItWas: the whole holds a refused cluster as the client
// last confirmed it, for a cluster that is missing is deleted.
func TestWhatWasRefusedStaysAsItWas(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, exclusive, service("web", 10001), service("a", 10002), member("web", 10001), member("a", 10002),
		caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	c := p.whole("default.front")
	c.ask("cds", "")
	cds, first := c.next("cds")
	c.holds(first, "a:8080", "web:8080")
	c.ack(cds)
	c.ask("eds", "", "a:8080", "web:8080")
	eds, _ := c.next("eds")
	c.ack(eds)
	p.apply(connecting("web", "3s"))
	cds, second := c.next("cds")
	if second["web:8080"] == first["web:8080"] || second["a:8080"] != first["a:8080"] {
		t.Fatal("the change of one cluster does not show, or changes another")
	}
	eds, _ = c.next("eds") // right behind it, for an Envoy that warms it
	c.nack(cds)
	c.ack(eds)
	cds, back := c.next("cds")
	if d := cmp.Diff(first, back); d != "" {
		t.Errorf("what was refused is not taken back (-want +got):\n%s", d)
	}
	c.ack(cds)
	c.quiet("what was refused comes again")
	p.apply(connecting("a", "4s"))
	cds, third := c.next("cds")
	c.holds(third, "a:8080", "web:8080")
	if third["web:8080"] != first["web:8080"] || third["a:8080"] == first["a:8080"] {
		t.Error("the refused cluster is not as it was confirmed, or the other does not change")
	}
	c.ack(cds)
}

// TestAskedAgain: a client that forgot what it got asks for it again and gets it,
// whatever else it names.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.front()
	c.ask("eds", nil, "none:1", "web:8080")
	r := c.next("eds")
	if d := cmp.Diff([]string{"web:8080"}, resources(r)); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	c.ack(r)
}

// TestEndpointsOfAClusterThatIsOnItsWayOut: as long as routes may name a cluster,
// a client that asks gets its endpoints.
func TestEndpointsOfAClusterThatIsOnItsWayOut(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.front()
	p.apply(switched("a"))
	cds := c.next("cds")
	c.ask("eds", nil, "web:8080")
	r := c.next("eds")
	if d := cmp.Diff([]string{"web:8080"}, resources(r)); d != "" || len(r.RemovedResources) > 0 {
		t.Errorf("-want +got:\n%s\nremoved %v", d, r.RemovedResources)
	}
	c.ack(r)
	c.ack(cds)
}

// TestARouteWaitsForEachOfItsClusters: for a new one beside those that the client
// has too.
func TestARouteWaitsForEachOfItsClusters(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, exclusive, service("web", 10001), service("a", 10002), service("z", 10003), member("web", 10001), member("a", 10002), member("z", 10003),
		caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	c := p.front()
	p.apply(switched("z"))
	cds := c.next("cds")
	if d := cmp.Diff([]string{"z:8080"}, resources(cds)); d != "" {
		t.Fatalf("-want +got:\n%s", d)
	}
	c.ack(cds)
	c.quiet("a route before the endpoints of its cluster are there")
	c.ask("eds", nil, "z:8080")
	c.ack(c.next("eds"))
	c.ack(c.next("rds"))
}
