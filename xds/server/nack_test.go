package server_test

import (
	"sync/atomic"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server"
	"github.com/weftmesh/weft/xds/server/syncstatus"
)

// TestRefused: a refusal stands in the status, what is refused is not sent
// again, and the next change of its content is.
func TestRefused(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.front()
	p.apply(retries(3))
	c.nack(c.next("rds"), "no such field")
	s := p.until("front", "is refusing", func(s syncstatus.Status) bool { return s.Nack != nil })
	if d := cmp.Diff([]string{"outbound:web:8080"}, s.Nack.Resources); d != "" || s.Nack.Message != "no such field" ||
		s.Nack.Type != "rds" || !s.Nack.Current || s.Nack.Revision != 2 || s.InSync || s.Acked != 1 || s.Types["rds"].Nacked != 1 {
		t.Errorf("status %+v, refusal %+v, resources (-want +got):\n%s", s, s.Nack, d)
	}
	c.quiet("what was refused")
	p.apply(connecting("a", "3s")) // does not concern it
	c.quiet("what was refused, after something else changed")
	p.apply(retries(4))
	c.ack(c.next("rds"))
	if s := p.synced("front"); s.Nack == nil || s.Nack.Current {
		t.Errorf("the refusal is not past: %+v", s.Nack)
	}
}

// TestRefusedWithoutName: where the client's words name nothing, the culprit is
// found, and all else arrives, under versions that the client cannot have.
func TestRefusedWithoutName(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	p.apply(caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	first := c.next("cds")
	c.nack(first, "the whole response is bad")
	half := c.next("cds")
	if d := cmp.Diff([]string{"a:8080"}, resources(half)); d != "" || half.Resources[0].Version == versions(first)["a:8080"] {
		t.Fatalf("versions %v then %v; (-want +got):\n%s", versions(first), versions(half), d)
	}
	c.ack(half)
	rest := c.next("cds")
	if d := cmp.Diff([]string{"web:8080"}, resources(rest)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	c.nack(rest, "bad again")
	s := p.until("front", "is refusing", func(s syncstatus.Status) bool { return s.Nack != nil && s.Nack.Message == "bad again" })
	if d := cmp.Diff([]string{"web:8080"}, s.Nack.Resources); d != "" {
		t.Errorf("culprit (-want +got):\n%s", d)
	}
	c.quiet("what was refused")
	p.apply(connecting("web", "3s"))
	c.ack(c.next("cds"))
}

// TestRefusingEverything: replacing what is refused has a bounded rate.
func TestRefusingEverything(t *testing.T) {
	t.Parallel()
	p := two(t, func(o *server.Options) { o.ResendEvery = time.Hour })
	p.apply(caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	c := p.delta("default.front", "")
	c.ask("cds", nil)
	c.nack(c.next("cds"), "no")
	c.nack(c.next("cds"), "no")
	c.quiet("a second replacement within the time")
}

// TestRefusedThenReconnected: after a refusal nobody knows what the client has,
// and what it says on the next stream may be wrong.
func TestRefusedThenReconnected(t *testing.T) {
	t.Parallel()
	p := two(t, nil)
	c := p.delta("default.front", "")
	have := c.configure()
	p.apply(caller("front", map[uint32]string{20001: "web", 20009: "web"}))
	lds := c.next("lds")
	c.nack(lds, "Error adding/updating listener(s) outbound:127.0.0.1:20009: cannot bind")
	p.until("front", "is refusing", func(s syncstatus.Status) bool { return s.Nack != nil })
	c.end()
	p.until("front", "is gone", func(s syncstatus.Status) bool { return !s.Connected })
	p.apply(caller("front", map[uint32]string{20001: "web"}))

	c = p.delta("default.front", "")
	c.ask("lds", have["lds"])
	lds = c.next("lds")
	if d := cmp.Diff([]string{"outbound:127.0.0.1:20009"}, lds.RemovedResources); d != "" {
		t.Errorf("what may be there must be removed (-want +got):\n%s", d)
	}
}

// spoiler renders what no Envoy takes, for as long as it is told to.
type spoiler struct {
	*xds.Renderer
	with atomic.Pointer[func(*resource.State)]
}

func (s *spoiler) Render(r *effective.Resolved) *resource.State {
	out := s.Renderer.Render(r)
	if f := s.with.Load(); f != nil {
		(*f)(out)
	}
	return out
}

func bad(t *testing.T, name, url string, m proto.Message) *resource.Resource {
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return (&resource.Resource{Name: name, Type: url, Version: "bad"}).With(&anypb.Any{TypeUrl: url, Value: b})
}

// refusals are a cluster that Envoy cannot decode, and a listener that it cannot apply.
func refusals(t *testing.T) (cluster, listener *resource.Resource) {
	manager := bad(t, "", "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
		&hcmv3.HttpConnectionManager{StatPrefix: "x"}) // without routes
	at := &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: envoytest.Port(t)}}}}
	return bad(t, "aaa", resource.ClusterType, &clusterv3.Cluster{Name: "aaa", ConnectTimeout: durationpb.New(-time.Second)}),
		bad(t, "aaa", resource.ListenerType, &listenerv3.Listener{Name: "aaa", Address: at,
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{
				{Name: "http", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: manager.Content()}}}}}})
}

// TestEnvoyRefuses: a real Envoy that refuses one resource, at decoding or at
// applying, gets everything else, goes on serving, and recovers.
func TestEnvoyRefuses(t *testing.T) {
	t.Parallel()
	forms(t, func(t *testing.T, form string) {
		web := envoytest.StartBackend(t, "web")
		at := envoytest.Port(t)
		spoil := &spoiler{Renderer: xds.NewRenderer(world.Kinds())}
		p := serve(t, func(o *server.Options) { o.Renderer, o.ResendEvery = spoil, 200*time.Millisecond },
			exclusive, service("web", web.Port), service("a", 10002), member("web", web.Port), member("a", 10002),
			caller("front", map[uint32]string{at: "web"}))
		e := p.envoy("front", form)
		p.synced("front")

		negative, noRoutes := refusals(t)
		more := envoytest.Port(t)
		for i, f := range []func(*resource.State){
			func(s *resource.State) { s.Clusters = append([]*resource.Resource{negative}, s.Clusters...) },
			func(s *resource.State) { s.Listeners = append([]*resource.Resource{noRoutes}, s.Listeners...) },
		} {
			spoil.with.Store(&f)
			good := map[uint32]string{at: "web", more + uint32(i): "a"}
			p.apply(caller("front", good), switched("a"), connecting("a", "4s"))
			s := p.until("front", "is refusing", func(s syncstatus.Status) bool { return s.Nack != nil && s.Nack.Current })
			e.Until("the good listener of the refused publication is there", func() bool {
				_, body, err := e.Get("/listeners")
				return err == nil && containsPort(body, more+uint32(i))
			})
			s = p.until("front", "names the culprit", func(s syncstatus.Status) bool { return cmp.Equal(s.Nack.Resources, []string{"aaa"}) })
			if s.InSync || s.Nack.Message == "" {
				t.Errorf("status %+v %+v", s, s.Nack)
			}
			p.until("front", "has confirmed all else", func(s syncstatus.Status) bool { return s.Rest != nil && cmp.Equal(s.Lacks, []string{"aaa"}) })
			spoil.with.Store(nil)
			p.apply(caller("front", map[uint32]string{at: "web"}), switched("web"))
			if s = p.synced("front"); s.Rest != nil {
				t.Error("it refuses nothing, and lacks", s.Lacks)
			}
			if n := s.Types["cds"].Nacked + s.Types["lds"].Nacked; n > 8 {
				t.Errorf("refused %d times", n)
			}
			if status, from, err := fetch(client(t), at); status != 200 || from != "web" || err != nil {
				t.Errorf("then %d from %q, %v", status, from, err)
			}
		}
	})
}

// TestRenderingFails: a bug that one dataplane meets harms no other, nor what
// its own sidecar has.
func TestRenderingFails(t *testing.T) {
	t.Parallel()
	spoil := &spoiler{Renderer: xds.NewRenderer(world.Kinds())}
	p := two(t, func(o *server.Options) { o.Renderer = spoil })
	c := p.front()
	f := func(*resource.State) { panic("a bug") }
	spoil.with.Store(&f)
	p.apply(retries(3))
	p.until("front", "says so", func(s syncstatus.Status) bool { return s.Note != "" && !s.InSync && s.Connected })
	c.quiet("nothing could be rendered")
	spoil.with.Store(nil)
	p.apply(retries(4))
	c.ack(c.next("rds"))
	p.synced("front")
}

// TestWhatIsNotKnownStays: where a bug keeps the routes to one destination from
// being resolved, a sidecar keeps those that it has, and gets all else.
func TestWhatIsNotKnownStays(t *testing.T) {
	t.Parallel()
	p := serve(t, nil, exclusive, service("web", 10001), service("a", 10002), member("web", 10001), member("a", 10002),
		caller("front", map[uint32]string{20001: "web", 20002: "a"}))
	dialects := world.Dialects()
	compose := dialects[0].Compose
	dialects[0].Compose = func(f route.Frontend, candidates []route.Candidate) route.Composition {
		if f.Name == "web" && len(candidates) > 0 {
			panic("a bug")
		}
		return compose(f, candidates)
	}
	p.model, _ = resolve.Compile(p.snapshot, dialects, world.Kinds())
	p.Publish(p.model, everybody)
	c := p.front()
	p.apply(switched("a"), connecting("a", "7s"))
	cds := c.next("cds")
	if d := cmp.Diff([]string{"a:8080"}, resources(cds)); d != "" || len(cds.GetRemovedResources()) > 0 {
		t.Errorf("clusters (-want +got):\n%s, removed %v", d, cds.GetRemovedResources())
	}
	c.ack(cds)
	c.ack(c.next("eds")) // of a changed cluster
	p.until("front", "says so", func(s syncstatus.Status) bool { return s.Note != "" && !s.InSync })
	c.quiet("the route to web is not known")
	p.remove(api.Ref{Kind: "MeshHTTPRoute", Mesh: "default", Name: "to-web"})
	p.synced("front")
}
