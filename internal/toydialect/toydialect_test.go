package toydialect_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/internal/toydialect"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/resource"
)

// dialects is the list with the one entry that makes the language known.
func dialects() []route.Dialect { return append(world.Dialects(), toydialect.Dialect) }

var catalog = api.NewCatalog(append(world.Types(), toydialect.Dialect.Types...)...)

// documents are a shop of three hosts: shop has rules of its own and includes
// those of a team, and two objects want its path /twice.
const documents = `
type: Mesh
name: default
meshServices: {mode: Exclusive}
---
type: Dataplane
mesh: default
name: client
networking: {address: 127.0.0.1, outbound: [{port: %d, hosts: {port: 80}}, {port: 1, backendRef: {kind: MeshService, name: web, port: 80}}]}
---
type: Dataplane
mesh: default
name: web-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {app: web, kuma.io/service: web, kuma.io/protocol: http}}]}
---
type: Dataplane
mesh: default
name: cart-1
networking: {address: 127.0.0.1, inbound: [{port: %d, tags: {app: cart, kuma.io/service: cart, kuma.io/protocol: http}}]}
---
type: MeshService
mesh: default
name: web
spec: {selector: {dataplaneTags: {app: web}}, ports: [{port: 80, targetPort: %[2]d, appProtocol: http}]}
---
type: MeshService
mesh: default
name: cart
spec: {selector: {dataplaneTags: {app: cart}}, ports: [{port: 80, targetPort: %[3]d, appProtocol: http}]}
---
type: ToyRoute
mesh: default
name: shop
spec:
  hosts: [shop.example.org, "*.example.org"]
  rules:
  - {name: front, path: /, timeout: 3s, to: [{service: web, port: 80, set: {x-from: front}}]}
  - {path: /twice, webSockets: false, answer: {status: 418, body: first}}
  - {path: /chat, webSockets: true, to: [{service: web, port: 80}]}
  - {path: /quiet, webSockets: false, to: [{service: web, port: 80}]}
  - {path: /gone, to: [{service: nobody, port: 80}]}
  - {path: /half, to: [{service: cart, port: 80}, {service: nobody, port: 80}]}
  includes: [{name: team, prefix: /cart}, {name: missing, prefix: /missing}]
---
type: ToyRoute
mesh: default
name: team
spec:
  rules:
  - {name: pay, path: /pay, to: [{service: cart, port: 80}]}
  includes: [{name: shop, prefix: /again}]
---
type: ToyRoute
mesh: default
name: tail
spec:
  hosts: [shop.example.org, api.example.org]
  rules: [{name: lost, path: /twice, to: [{service: web, port: 80}]}]
---
type: MeshTimeout
mesh: default
name: on-shop
spec: {to: [{targetRef: {kind: ToyRoute, name: shop}, default: {http: {requestTimeout: 7s, streamIdleTimeout: 8s}}}]}
---
type: MeshTimeout
mesh: default
name: on-pay
spec: {to: [{targetRef: {kind: ToyRoute, name: team, sectionName: pay}, default: {http: {requestTimeout: 9s}}}]}
`

var client = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}

func compile(t *testing.T, listen, web, cart uint32) *resolve.Model {
	t.Helper()
	objects, err := decode.Objects(catalog, "shop.yaml", fmt.Appendf(nil, documents, listen, web, cart))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := resolve.Compile(snapshot.New(1, objects...), dialects(), world.Kinds())
	return m
}

// questions are requests, what the simulator says of each, and who answers it.
var questions = []struct {
	url, verdict, answered string
	headers                http.Header
}{
	{"http://shop.example.org/", "forward toy / to web", "200 by web", nil},
	{"http://shop.example.org/a/b", "forward toy / to web", "200 by web", nil},
	{"http://shop.example.org/cart/pay/now", "forward toy /cart/pay to cart", "200 by cart", nil},
	{"http://shop.example.org/cart/other", "forward toy / to web", "200 by web", nil},
	{"http://shop.example.org/twice", `respond 418 "first" by toy /twice`, "418 first", nil},
	{"http://shop.example.org/missing/x", `respond 502 "" by toy /missing`, "502", nil},
	{"http://shop.example.org/cart/again", `respond 502 "" by toy /cart/again`, "502", nil},
	{"http://shop.example.org/gone", `respond 503 "" by toy /gone to nobody/503`, "503", nil},
	{"http://any.example.org/twice", `respond 418 "first" by toy /twice`, "418 first", nil},
	{"http://api.example.org/twice", "forward toy /twice to web", "200 by web", nil},
	{"http://api.example.org/", `respond 404 "" by toy-none`, "404", nil},
	{"http://shop.example.org/chat", "forward toy /chat to web", "502", socket},
	{"http://shop.example.org/cart/pay/now", "forward toy /cart/pay to cart", "502", socket},
	{"http://shop.example.org/quiet", "forward toy /quiet to web", "200 by web", nil},
	{"http://shop.example.org/quiet", `respond 403 "" by toy /quiet to web/403`, "403", socket},
	{"http://shop.example.org/twice", `respond 418 "first" by toy /twice`, "418 first", socket},
}

// socket asks for a WebSocket. The workloads here are asked for it in HTTP/2, which
// they do not understand: 502 says that it has come to them.
var socket = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}

// asked is a request as the simulator takes it.
func asked(url string, headers http.Header) wire.Request {
	q := wire.Request{URL: url, Headers: wire.Headers{}}
	for name := range headers {
		q.Headers.Add(name, headers.Get(name))
	}
	return q
}

func verdictText(b *sim.Branch) string {
	text := string(b.Outcome)
	if b.Outcome == sim.Respond {
		text += fmt.Sprintf(" %d %q by", b.Status, b.Body)
	}
	text += " " + b.Route.Name
	for i, x := range b.Backends {
		text += map[bool]string{true: " to ", false: ", "}[i == 0] + x.Name
		if x.Status != 0 {
			text += fmt.Sprintf("/%d", x.Status)
		}
	}
	return text
}

// TestSimulated: the simulator answers for the language.
func TestSimulated(t *testing.T) {
	t.Parallel()
	m := compile(t, 10080, 8081, 8082)
	for _, q := range questions {
		v, err := sim.Run(m, client, asked(q.url, q.headers))
		if err != nil {
			t.Errorf("%s: %v", q.url, err)
			continue
		}
		if got := verdictText(&v.Branches[0]); got != q.verdict {
			t.Errorf("%s: %s, want %s", q.url, got, q.verdict)
		}
	}
	v, err := sim.Run(m, client, wire.Request{URL: "http://shop.example.org/half"})
	if err != nil {
		t.Fatal(err)
	}
	if got := verdictText(&v.Branches[0]); got != "forward toy /half to cart, nobody/503" {
		t.Errorf("half: %s", got)
	}
}

// TestEnvoyAgrees: a real Envoy with what is rendered does what the simulator says.
func TestEnvoyAgrees(t *testing.T) {
	t.Parallel()
	web, cart, listen := envoytest.StartBackend(t, "web"), envoytest.StartBackend(t, "cart"), envoytest.Port(t)
	m := compile(t, listen, web.Port, cart.Port)
	r, _ := m.Dataplane(client)
	s := xds.NewRenderer(world.Kinds()).Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	s.Listeners = slices.DeleteFunc(s.Listeners, func(l *resource.Resource) bool { return l.Name == "outbound:127.0.0.1:1" })
	envoytest.Drive(t, s)
	for i, q := range questions {
		host, path, _ := strings.Cut(strings.TrimPrefix(q.url, "http://"), "/")
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/%s", listen, path), nil)
		if err != nil {
			t.Fatal(err)
		}
		maps.Copy(req.Header, q.headers)
		req.Host = host
		req.Header.Set(envoytest.IDHeader, fmt.Sprint(i))
		reply, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("%s: %v", q.url, err)
		}
		body, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		reply.Body.Close()
		got := fmt.Sprint(reply.StatusCode)
		if by := reply.Header.Get(envoytest.NameHeader); by != "" {
			got += " by " + by
		} else if len(body) > 0 && reply.StatusCode != http.StatusBadGateway {
			got += " " + string(body)
		}
		if got != q.answered {
			t.Errorf("%s: %s, want %s", q.url, got, q.answered)
		}
	}
	if from := web.Seen("0")[0].Headers.Get("x-from"); from != "front" {
		t.Errorf("the header of the backend is %q", from)
	}
	if from := cart.Seen("2")[0].Headers.Get("x-from"); from != "" {
		t.Errorf("another backend got %q", from)
	}
}
