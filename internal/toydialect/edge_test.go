package toydialect_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/inspect/explain"
	"github.com/weftmesh/weft/inspect/terminal"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
)

var edge = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "edge"}

// atEdge has an edge dataplane with three ports: one for all hosts, one for those below
// example.org, and one for a host that nobody has.
const atEdge = `
---
type: Dataplane
mesh: default
name: edge
networking:
  address: 127.0.0.1
  gateway:
    type: BUILTIN
    listeners:
    - {port: %[1]d, protocol: http}
    - {port: %[2]d, hostname: "*.example.org"}
    - {port: %[2]d, hostname: shop.example.org}
    - {port: %[3]d, hostname: nobody.example.org.test}
---
type: ToyRoute
mesh: default
name: other
spec: {hosts: [other.test], rules: [{path: /a/b, to: [{service: cart, port: 80}]}]}
`

func compileEdge(t *testing.T, ports [3]uint32, web, cart uint32) *resolve.Model {
	t.Helper()
	text := fmt.Sprintf(documents, 10080, web, cart) + fmt.Sprintf(atEdge, ports[0], ports[1], ports[2])
	objects, err := decode.Objects(catalog, "edge.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), dialects(), world.Kinds())
	return m
}

// fromOutside are requests to the edge: the number of the port, the host and the path,
// what the simulator says, and what arrives where it is forwarded.
var fromOutside = []struct {
	port                           int
	host, path, verdict, forwarded string
}{
	{0, "shop.example.org", "/", "forward toy / to web", "shop.example.org/"},
	{0, "Shop.Example.Org", "/cart/pay/now?a=//b", "forward toy /cart/pay to cart", "Shop.Example.Org/cart/pay/now?a=//b"},
	{0, "shop.example.org.", "/", "forward toy / to web", "shop.example.org/"},
	{0, "shop.example.org.:81", "/", "forward toy / to web", "shop.example.org:81/"},
	{0, "any.example.org", "/twice", `respond 418 "first" by toy /twice`, ""},
	{0, "other.test", "/a//b", "forward toy /a/b to cart", "other.test/a/b"},
	{0, "other.test", "//a/./b///c", "forward toy /a/b to cart", "other.test/a/b/c"},
	{0, "other.test", "/x/..//a/b", "forward toy /a/b to cart", "other.test/a/b"},
	{0, "other.test", "/a%2Fb", `respond 404 "" by toy-none`, ""},
	{0, "stranger.test", "/", "respond 404", ""},
	{1, "shop.example.org", "/", "forward toy / to web", "shop.example.org/"},
	{1, "api.example.org", "/twice", "forward toy /twice to web", "api.example.org/twice"},
	{1, "other.test", "/a/b", "respond 404", ""},
	{2, "shop.example.org", "/", "respond 404", ""},
}

// claimed is what only a mesh may say of a request.
var claimed = []envoytest.Line{
	{Name: "x-request-id", Value: "mine"}, {Name: "x-forwarded-proto", Value: "https"}, {Name: "x-envoy-internal", Value: "true"},
	{Name: "x-envoy-max-retries", Value: "7"}, {Name: "x-envoy-decorator-operation", Value: "mine"}, {Name: "x-envoy-downstream-service-cluster", Value: "mine"},
	{Name: "x-mine", Value: "1"},
}

// TestEdge: an edge dataplane serves the hosts that its listeners cover, in a real Envoy
// as in the simulator, and what reaches a backend is what the simulator says.
func TestEdge(t *testing.T) {
	t.Parallel()
	backends := map[string]*envoytest.Backend{"web": envoytest.StartBackend(t, "web"), "cart": envoytest.StartBackend(t, "cart")}
	ports := [3]uint32{envoytest.Port(t), envoytest.Port(t), envoytest.Port(t)}
	m := compileEdge(t, ports, backends["web"].Port, backends["cart"].Port)
	r, _ := m.Dataplane(edge)
	s := xds.NewRenderer(world.Kinds()).Render(r)
	if len(s.Notes) > 0 || len(s.Listeners) != len(ports) || len(s.Routes) != len(ports) {
		t.Fatalf("%d listeners, %d route configurations, notes: %v", len(s.Listeners), len(s.Routes), s.Notes)
	}
	envoytest.Drive(t, s)
	for i, q := range fromOutside {
		sent := wire.Request{URL: fmt.Sprintf("http://10.9.8.7:%d%s", ports[q.port], q.path), Headers: wire.Headers{"host": q.host}}
		lines := append(slices.Clone(claimed), envoytest.Line{Name: envoytest.IDHeader, Value: fmt.Sprint(i)})
		for _, l := range lines {
			sent.Headers.Add(l.Name, l.Value)
		}
		v, err := sim.Run(m, edge, sent)
		if err != nil {
			t.Fatalf("%s%s: %v", q.host, q.path, err)
		}
		b := &v.Branches[0]
		got := fmt.Sprintf("respond %d", b.Status)
		if b.Route != nil {
			got = verdictText(b)
		}
		if got != q.verdict {
			t.Errorf("%d %s%s: the simulator says %s, want %s", q.port, q.host, q.path, got, q.verdict)
		}
		reply, err := envoytest.Send(fmt.Sprintf("127.0.0.1:%d", ports[q.port]),
			envoytest.Wire{Version: "1.1", Method: "GET", Target: q.path, Authority: q.host, Lines: lines})
		if err != nil {
			t.Fatal(err)
		}
		if b.Outcome != sim.Forward {
			if reply.Status != int(b.Status) {
				t.Errorf("%d %s%s: Envoy answers %d, want %d", q.port, q.host, q.path, reply.Status, b.Status)
			}
			continue
		}
		to := backends[b.Backends[0].Name]
		seen := to.Seen(fmt.Sprint(i))
		if len(seen) != 1 {
			t.Errorf("%d %s%s: %s got it %d times", q.port, q.host, q.path, to.Name, len(seen))
			continue
		}
		if got := seen[0].Authority + seen[0].Path; got != q.forwarded || b.Forwarded.Authority+b.Forwarded.Path != q.forwarded {
			t.Errorf("%d %s%s: %s got %s, the simulator says %s, want %s", q.port, q.host, q.path, to.Name, got, b.Forwarded.Authority+b.Forwarded.Path, q.forwarded)
		}
		for _, l := range claimed {
			if got, want := strings.Join(seen[0].Headers.Values(l.Name), ","), b.Forwarded.Headers[l.Name]; got != want && (got == l.Value || want != "") {
				t.Errorf("%s is %q, the simulator says %q", l.Name, got, want)
			}
		}
	}
}

// TestEdgeIsExplained: explain shows where the edge listens and which hosts it serves
// there, and a port at which it does not listen is no way to it.
func TestEdgeIsExplained(t *testing.T) {
	t.Parallel()
	m := compileEdge(t, [3]uint32{8080, 8081, 8082}, 1, 2)
	e, err := explain.Of(m.Reader(nil), edge, "")
	if err != nil {
		t.Fatal(err)
	}
	want := []explain.Edge{{Address: "127.0.0.1", Port: 8080, Hosts: 4}, {Address: "127.0.0.1", Port: 8081, Hosts: 3}, {Address: "127.0.0.1", Port: 8082}}
	if d := cmp.Diff(want, e.Edges); d != "" {
		t.Error(d)
	}
	var text strings.Builder
	if err := explain.Text(&text, e, terminal.Style{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"⇐ edge at 127.0.0.1:8082  0 hosts", "from outside at 127.0.0.1:8080, http"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
	if e, err = explain.Of(m.Reader(nil), edge, "other.test"); err != nil || len(e.Outbounds) != 1 || !e.Outbounds[0].Edge {
		t.Errorf("%d outbounds to one host, %v", len(e.Outbounds), err)
	}
	_, err = sim.Run(m, edge, wire.Request{URL: "http://shop.example.org/"})
	if err == nil || !strings.HasSuffix(err.Error(), "its clients ask for http://shop.example.org:8080, http://shop.example.org:8081, http://shop.example.org:8082") {
		t.Errorf("at port 80: %v", err)
	}
}

// TestAnEdgeIsNoOutbound: where an address at which a dataplane called hosts becomes
// that of a listener for clients from outside, every outbound there says so.
func TestAnEdgeIsNoOutbound(t *testing.T) {
	t.Parallel()
	const plane = "\n---\n{type: Dataplane, mesh: default, name: moves, networking: {address: 127.0.0.1, %s}}\n"
	read := func(networking string) *snapshot.Snapshot {
		objects, err := decode.Objects(catalog, "edge.yaml", []byte(fmt.Sprintf(documents, 10080, 1, 2)+fmt.Sprintf(plane, networking)))
		if err != nil {
			t.Fatal(err)
		}
		return snapshot.New(1, objects...)
	}
	before, after := read("outbound: [{port: 80, hosts: {port: 80}}]"), read("gateway: {type: BUILTIN, listeners: [{port: 80}]}")
	m, _ := resolve.Compile(before, dialects(), world.Kinds())
	ref := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "moves"}
	old, _ := before.Get(ref)
	moved, _ := after.Get(ref)
	m, _ = m.Update(after, []snapshot.Change{{Before: old, After: moved}})
	r, _ := m.Dataplane(ref)
	if len(r.Outbounds) == 0 || slices.ContainsFunc(r.Outbounds, func(o *effective.Outbound) bool { return !o.Edge }) {
		t.Errorf("of its %d outbounds not all are at the edge", len(r.Outbounds))
	}
}
