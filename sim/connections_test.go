package sim_test

import (
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/api/snapshot"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
	"github.com/weftmesh/weft/xds"
)

// greeting is what a connection through the proxy hears that begins with the bytes of hello;
// "close" if it is closed.
func greeting(port uint32, hello []byte) (string, error) {
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := c.Write(hello); err != nil {
		return string(sim.Close), nil
	}
	text, err := io.ReadAll(c)
	if err, ok := err.(net.Error); ok && err.Timeout() {
		return "", err
	}
	if len(text) == 0 {
		return string(sim.Close), nil
	}
	return string(text), nil
}

// drawBackends are the backendRefs of a MeshTCPRoute, by name of who answers: of
// any protocol, subsets, some of which cannot be used or get nothing.
func drawBackends(r *rand.Rand) []string {
	refs := []string{
		"kind: MeshService, name: a, port: 80", "kind: MeshService, name: b, port: 80", "kind: MeshService, name: b, sectionName: web",
		"kind: MeshServiceSubset, name: a, tags: {version: v1}", "kind: MeshServiceSubset, name: a, tags: {version: v3}",
		"kind: MeshService, labels: {app: b}, port: 80", "kind: MeshExternalService, name: outside",
		"kind: MeshService, name: empty, port: 80", "kind: MeshService, name: nosuch, port: 80", "kind: MeshService, name: a, port: 81",
	}
	weights := []uint32{0, 1, 1, 2, 10, 90, 1 << 31, math.MaxUint32}
	out := make([]string, 1+r.IntN(4))
	for i := range out {
		out[i] = fmt.Sprintf("{%s, weight: %d}", refs[r.IntN(len(refs))], weights[r.IntN(len(weights))])
	}
	return out
}

// canary is what d0 has: the rule that such routes are written for.
var canary = []string{"{kind: MeshServiceSubset, name: a, tags: {version: v1}, weight: 90}", "{kind: MeshServiceSubset, name: a, tags: {version: v2}, weight: 10}"}

// connectionWorld is a mesh in which the services a (v1 and v2), b, which speaks
// http, and outside answer, and empty does not; in namespace shop the Services sa and sb
// do, and gone does not. The dataplane front calls d0, d1, … at ports, each of which has a
// drawn MeshTCPRoute, TCPRoute, or some TLSRoutes.
func connectionWorld(t *testing.T, r *rand.Rand, ports []uint32) *resolve.Model {
	t.Helper()
	docs := []string{"type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n"}
	add := func(format string, args ...any) { docs = append(docs, fmt.Sprintf("mesh: default\n"+format, args...)) }
	for name, tags := range map[string]string{"a-v1": "app: a, version: v1", "a-v2": "app: a, version: v2", "b": "app: b"} {
		add("type: Dataplane\nname: %s\nnetworking: {address: 127.0.0.1, inbound: [{name: main, port: %d, tags: {kuma.io/service: old, %s}}]}\n", name, envoytest.StartGreeter(t, name), tags)
	}
	for name, protocol := range map[string]string{"a": "tcp", "b": "http", "empty": "tcp"} {
		add("type: MeshService\nname: %s\nlabels: {app: %[1]s}\nspec: {selector: {dataplaneTags: {app: %[1]s}}, ports: [{port: 80, name: web, targetPort: main, appProtocol: %[2]s}]}\n", name, protocol)
	}
	add("type: MeshExternalService\nname: outside\nspec: {match: {type: HostnameGenerator, port: 80, protocol: tcp}, endpoints: [{address: 127.0.0.1, port: %d}]}\n", envoytest.StartGreeter(t, "outside"))
	for name, port := range map[string]uint32{"sa": envoytest.StartGreeter(t, "sa"), "sb": envoytest.StartGreeter(t, "sb"), "gone": 0} {
		docs = append(docs, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s, namespace: shop}\nspec: {ports: [{port: 80}]}\n", name))
		if port != 0 {
			docs = append(docs, fmt.Sprintf("apiVersion: discovery.k8s.io/v1\nkind: EndpointSlice\nmetadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}\naddressType: IPv4\nports: [{port: %[2]d}]\nendpoints: [{addresses: [127.0.0.1]}]\n", name, port))
		}
	}
	var outbounds []string
	for i, port := range ports {
		if i%3 != 0 {
			docs = append(docs, drawGatewayRoutes(r, i)...)
			outbounds = append(outbounds, fmt.Sprintf("{port: %d, backendRef: {kind: MeshService, name: d%d, namespace: shop, port: 80}}", port, i))
			continue
		}
		backends := drawBackends(r)
		if i == 0 {
			backends = canary
		}
		add("type: MeshService\nname: d%d\nspec: {ports: [{port: 80, appProtocol: %s}]}\n", i, []string{"tcp", "http"}[r.IntN(2)])
		add("type: MeshTCPRoute\nname: r%d\nspec: {to: [{targetRef: {kind: MeshService, name: d%[1]d}, rules: [{default: {backendRefs: [%[2]s]}}]}]}\n", i, strings.Join(backends, ", "))
		outbounds = append(outbounds, fmt.Sprintf("{port: %d, backendRef: {kind: MeshService, name: d%d, port: 80}}", port, i))
	}
	add("type: Dataplane\nname: front\nnetworking: {address: 127.0.0.1, outbound: [%s]}\n", strings.Join(outbounds, ", "))
	objects, err := decode.Objects(world.Catalog(), "drawn.yaml", []byte(strings.Join(docs, "---\n")))
	if api.Refuses(err) {
		t.Fatal(err)
	}
	model, _ := resolve.Compile(snapshot.New(1, objects...), world.Dialects(), world.Kinds())
	return model
}

// wantedGreetings are the shares that a verdict gives to what a connection hears.
// The members of one backend have equal parts of its share.
func wantedGreetings(t *testing.T, v sim.Verdict) map[string]float64 {
	t.Helper()
	b, out := v.Branches[0], map[string]float64{}
	if b.Outcome == sim.Close {
		return map[string]float64{string(sim.Close): 1}
	}
	for _, x := range b.Backends {
		switch {
		case x.Outcome == sim.Close:
			out[string(sim.Close)] += x.Share
		case len(x.Inbounds) == 0:
			out[x.Name] += x.Share
		}
		for _, in := range x.Inbounds {
			for _, name := range in.Names {
				out[name] += x.Share * in.Share / float64(len(in.Names))
			}
		}
	}
	return out
}

// TestConnectionsAgreeWithEnvoy draws routes for connections and counts where those
// through a real Envoy go, which ask for names in TLS where routes choose by them.
func TestConnectionsAgreeWithEnvoy(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var ports []uint32
	for len(ports) < 24 {
		if port := envoytest.Port(t); !slices.Contains(ports, port) { // one that is free may be given twice
			ports = append(ports, port)
		}
	}
	model := connectionWorld(t, rand.New(rand.NewPCG(seed, 0)), ports)
	front := api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "front"}
	r, _ := model.Dataplane(front)
	envoytest.Drive(t, xds.NewRenderer(world.Kinds()).Render(r))
	chosen := map[string]bool{}
	for i, port := range ports {
		q, names, n := wire.Request{URL: fmt.Sprintf("tcp://d%d:80", i)}, []string{""}, 240
		switch {
		case i == 0:
			n = 1000
		case i%3 != 0:
			q.URL = fmt.Sprintf("tcp://d%d.shop:80", i)
		}
		if i%3 == 2 {
			names, n = askedNames, 64
		}
		for _, q.SNI = range names {
			v, err := sim.Run(model, front, q)
			if err != nil {
				t.Fatal(err)
			}
			if b := v.Branches[0]; b.Route != nil {
				chosen[b.Route.ServerName] = true
			}
			hello := clientHello(t, q.SNI)
			if i%3 != 2 {
				hello = nil
			}
			said := fmt.Sprintf("d%d %s: %s", i, q.SNI, outcomeText(v.Branches[0]))
			compareGreetings(t, wantedGreetings(t, v), greetings(t, port, n, hello), n, said)
		}
	}
	if len(chosen) < 4 {
		t.Errorf("of the names in TLS only %v are chosen", slices.Sorted(maps.Keys(chosen)))
	}
}

// compareGreetings holds what n connections hear against the shares of it. A share that is
// right lies outside of six standard deviations and three connections, which count where a
// share is tiny, once in a billion runs; nothing and everything are exact.
func compareGreetings(t *testing.T, want map[string]float64, got map[string]int, n int, said string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[name]; !ok {
			t.Errorf("%d connections hear %s, of which the simulator knows nothing: %s", got[name], name, said)
		}
	}
	for name, share := range want {
		most := 1e-3
		if share > 0 && share < 1 {
			most += 6*math.Sqrt(share*(1-share)*float64(n)) + 3
		}
		if off := math.Abs(float64(got[name]) - float64(n)*share); off > most {
			t.Errorf("%d of %d connections hear %s, the simulator says %v: %s", got[name], n, name, share, said)
		}
	}
}

// greetings counts what n connections hear.
func greetings(t *testing.T, port uint32, n int, hello []byte) map[string]int {
	t.Helper()
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range n / 8 {
				name, err := greeting(port, hello)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got[name]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return got
}

// TestAConnectionIsNoRequest: what only a request has is refused, and where requests
// decide where they go a connection has no answer.
func TestAConnectionIsNoRequest(t *testing.T) {
	t.Parallel()
	for want, q := range map[string]wire.Request{
		"url: a connection has no path; write tcp://db:5432":          {URL: "tcp://db:5432/v1"},
		"url: a connection has no path; write tcp://db:5432, or":      {URL: "tcp://db:5432?a"},
		"url: a connection has no method":                             {URL: "tcp://db:5432", Method: "GET"},
		"url: a connection has no method, version":                    {URL: "tcp://db:5432", Version: "2"},
		"url: a connection has no method, version, headers":           {URL: "tcp://db:5432", Headers: wire.Headers{"a": "b"}},
		"url: a connection has no method, version, headers or body":   {URL: "tcp://db:5432", Body: 1},
		"url: web:8080 looks for requests":                            {URL: "tcp://web:8080"},
		"url: tcp:// stands for no port; write one, as tcp://db:5432": {URL: "tcp://db"},
		"does not begin with http://, https:// or tcp://":             {URL: "udp://db:5432"},
	} {
		if _, err := run(town(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", q, err, want)
		}
	}
	v, err := run(town(), wire.Request{URL: "tcp://db:5432"})
	if err != nil || v.Request.Method != "" || v.Branches[0].Forwarded != nil || outcomeText(v.Branches[0]) != "forward 0: v2=1/0" {
		t.Errorf("%+v, %v", v, err)
	}
}
