package skipper_test

import (
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// shop is a client of hosts, and services for RouteGroups.
func shop() string {
	text := "type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n---\n" +
		"type: Dataplane\nmesh: default\nname: client\nnetworking: {address: 10.0.0.1, outbound: [{port: 80, hosts: {port: 80}}]}\n"
	for i, name := range []string{"s", "service-a", "service-b", "service-b-v1", "service-b-v2"} {
		text += fmt.Sprintf("---\ntype: MeshService\nmesh: default\nname: %s\nlabels: {k8s.kuma.io/namespace: default}\nspec: {selector: {dataplaneTags: {app: %[1]s}}, ports: [{port: 80, appProtocol: http}]}\n"+
			"---\ntype: Dataplane\nmesh: default\nname: %[1]s-1\nnetworking: {address: 10.0.1.%d, inbound: [{port: 80, tags: {app: %[1]s, kuma.io/service: %[1]s, kuma.io/protocol: http}}]}\n", name, i+1)
	}
	return text
}

var client = api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"}

// mesh is the world of the shop with more documents.
func mesh(t interface{ Fatal(...any) }, text string, more ...*api.Object) *resolve.Model {
	return meshOf(t, shop()+text, more...)
}

// meshOf is the world of documents and objects.
func meshOf(t interface{ Fatal(...any) }, text string, more ...*api.Object) *resolve.Model {
	objects, err := decode.Objects(world.Catalog(), "shop.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := world.Compile(world.Snapshot(append(objects, more...)...))
	return m
}

func tableOf(t interface{ Fatal(...any) }, m *resolve.Model, host string) *effective.Table {
	r, _ := m.Dataplane(client)
	for _, o := range r.Outbounds {
		if o.Destination.Name == host {
			return o.Table
		}
	}
	t.Fatal("the client calls no " + host)
	return nil
}

// TestEnvoyAgreesWithSim: a real Envoy takes the route that the simulator says, with
// the path that it says, for random groups.
func TestEnvoyAgreesWithSim(t *testing.T) {
	t.Parallel()
	const worlds, requests = 60, 20
	type question struct {
		world int
		q     wire.Request
		path  string
	}
	var tables []*effective.Table
	var models []*resolve.Model
	var asked []question
	for n := range worlds {
		w := rapid.Custom(func(t *rapid.T) (out struct {
			groups []*api.Object
			asked  []question
		}) {
			for _, name := range []string{"g1", "g2"} {
				out.groups = append(out.groups, &api.Object{Ref: api.Ref{Kind: skipper.Kind, Mesh: "default", Namespace: "default", Name: name}, Spec: skipper.AnyGroup(t, name)})
			}
			for range requests {
				r := skipper.AnyRequest(t)
				headers := wire.Headers{}
				for _, name := range []string{"X", "Y"} {
					for _, v := range r.Header(name) {
						headers.Add(strings.ToLower(name), v)
					}
				}
				out.asked = append(out.asked, question{n, wire.Request{Method: r.Method, URL: "http://a.example" + r.Path, Headers: headers}, r.Path})
			}
			return out
		}).Example(n)
		m := mesh(t, "", w.groups...)
		models, tables, asked = append(models, m), append(tables, tableOf(t, m, "a.example")), append(asked, w.asked...)
	}
	o := envoytest.NewOracle(t, world.Kinds(), envoytest.Tables(tables...))
	routes := map[string]bool{}
	for _, x := range asked {
		v, err := sim.Run(models[x.world], client, x.q)
		if err != nil {
			t.Fatal(err)
		}
		headers := http.Header{}
		for name := range x.q.Headers {
			headers.Set(name, x.q.Headers[name])
		}
		a, err := o.Ask(x.world, envoytest.Question{Method: x.q.Method, Host: "a.example", Path: x.path, Headers: headers})
		if err != nil {
			t.Fatal(err)
		}
		b := &v.Branches[0]
		routes[b.Route.Name] = true
		if a.Route != b.Route.Name || b.Outcome == sim.Respond && a.Status != int(b.Status) {
			t.Errorf("world %d: %s %s %v: Envoy takes %q with %d, sim %q with %d", x.world, x.q.Method, x.path, headers, a.Route, a.Status, b.Route.Name, b.Status)
			continue
		}
		if b.Outcome == sim.Forward && (len(a.Attempts) != 1 || a.Attempts[0].Path != b.Forwarded.Path) {
			t.Errorf("world %d: %s %s: Envoy sends %v, sim %s", x.world, x.q.Method, x.path, a.Attempts, b.Forwarded.Path)
		}
	}
	if len(routes) < 20 {
		t.Errorf("only %d routes were taken", len(routes))
	}
}

// switching is step 3 of the proposal's A/B test: a tenth for A, and of the others a
// fifth for the new version of B.
const switching = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: ab}
spec:
  hosts: [api.example.org]
  backends:
  - {name: a, serviceName: service-a, servicePort: 80}
  - {name: b, serviceName: service-b-v1, servicePort: 80}
  - {name: b2, serviceName: service-b-v2, servicePort: 80}
  defaultBackends: [{backendName: b, weight: 80}, {backendName: b2, weight: 20}]
  routes:
  - {pathSubtree: /, predicates: [Traffic(.1)], backends: [{backendName: a}], filters: ['responseCookie("canary", "A")']}
  - {pathSubtree: /, filters: ['responseCookie("canary", "B")']}
  - {pathSubtree: /, predicates: ['Cookie("canary", "A")'], backends: [{backendName: a}]}
  - {pathSubtree: /, predicates: ['Cookie("canary", "B")']}
`

// TestSharesOfAnABTest: 10,000 requests come to the variants as the weights and the
// chance say, and those with a cookie stay.
func TestSharesOfAnABTest(t *testing.T) {
	t.Parallel()
	table := tableOf(t, mesh(t, switching), "api.example.org")
	o := envoytest.NewOracle(t, world.Kinds(), envoytest.Tables(table))
	const n = 10_000
	var mu sync.Mutex
	got := map[string]float64{}
	ask := func(cookie string, times int) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				for range times / 8 {
					headers := http.Header{}
					if cookie != "" {
						headers.Set("Cookie", cookie)
					}
					a, err := o.Ask(0, envoytest.Question{Method: "GET", Host: "api.example.org", Path: "/any", Headers: headers})
					if err != nil {
						t.Error(err)
						return
					}
					name, _, _ := strings.Cut(a.Headers.Get("Set-Cookie"), ";")
					mu.Lock()
					got[fmt.Sprintf("[%s] %s %s", cookie, a.Cluster, name)] += 1 / float64(times/8*8)
					mu.Unlock()
				}
			})
		}
		group.Wait()
	}
	ask("", n)
	ask("canary=A", 400)
	ask("canary=B", 4000)
	want := map[string]float64{
		"[] service-a.default:80 canary=A": .1, "[] service-b-v1.default:80 canary=B": .72, "[] service-b-v2.default:80 canary=B": .18,
		"[canary=A] service-a.default:80 ": 1, "[canary=B] service-b-v1.default:80 ": .8, "[canary=B] service-b-v2.default:80 ": .2,
	}
	for key, share := range want {
		bound := .015
		if strings.Contains(key, "canary=B]") {
			bound = .03 // of fewer requests
		}
		if math.Abs(got[key]-share) > bound {
			t.Errorf("%s: %.4f, want %v", key, got[key], share)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}
