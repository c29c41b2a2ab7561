package differential

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// balancedHosts say how endpoints are chosen, in two languages; of several routes some
// want the same.
const balancedHosts = `---
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: proxy, namespace: default}
spec:
  virtualhost: {fqdn: proxy.example.org}
  routes:
  - {conditions: [{prefix: /turn}], services: [{name: s, port: 80}]}
  - {conditions: [{prefix: /random}], services: [{name: s, port: 80}], loadBalancerPolicy: {strategy: Random}}
  - {conditions: [{prefix: /least}], services: [{name: s, port: 80}], loadBalancerPolicy: {strategy: WeightedLeastRequest}}
  - {conditions: [{prefix: /cookie}], services: [{name: s, port: 80}], loadBalancerPolicy: {strategy: Cookie}}
  - {conditions: [{prefix: /header}], services: [{name: s, port: 80}], loadBalancerPolicy: {strategy: RequestHash, requestHashPolicies: [{headerHashOptions: {headerName: X-User}, terminal: true}, {hashSourceIP: true}]}}
  - {conditions: [{prefix: /query}], services: [{name: s, port: 80}], loadBalancerPolicy: {strategy: RequestHash, requestHashPolicies: [{queryParameterHashOptions: {parameterName: user}}]}}
---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: group, namespace: default}
spec:
  hosts: [group.example.org]
  backends:
  - {name: turn, serviceName: s, servicePort: 80, algorithm: roundRobin}
  - {name: random, serviceName: s, servicePort: 80, algorithm: random}
  - {name: least, serviceName: s, servicePort: 80, algorithm: powerOfRandomNChoices}
  - {name: fewest, serviceName: s, servicePort: 80, algorithm: leastRequests}
  - {name: hash, serviceName: s, servicePort: 80, algorithm: consistentHash}
  routes:
  - {pathSubtree: /turn, backends: [{backendName: turn}]}
  - {pathSubtree: /random, backends: [{backendName: random}]}
  - {pathSubtree: /least, backends: [{backendName: least}]}
  - {pathSubtree: /fewest, backends: [{backendName: fewest}]}
  - {pathSubtree: /client, backends: [{backendName: hash}]}
  - {pathSubtree: /header, backends: [{backendName: hash}], filters: ['consistentHashKey("${request.header.X-User}")']}
  - {pathSubtree: /query, backends: [{backendName: hash}], filters: ['consistentHashKey("${request.query.user}")', 'consistentHashBalanceFactor(1.25)']}
  - {pathSubtree: /own, backends: [{backendName: hash}], filters: ['consistentHashKey("${request.cookie.id}")']}
`

// asker sends requests to a sidecar, and tells who answers.
type asker struct {
	t      *testing.T
	listen uint32
}

func (a asker) ask(url string, headers ...string) (backend string, answer *http.Response) {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	req.URL.Host = fmt.Sprintf("127.0.0.1:%d", a.listen)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		a.t.Errorf("%s: %d", url, resp.StatusCode)
	}
	return resp.Header.Get(envoytest.NameHeader), resp
}

// spread counts who answers n requests, of which the i-th is what each says.
func (a asker) spread(n int, each func(i int) (url string, headers []string)) map[string]int {
	a.t.Helper()
	out := map[string]int{}
	for i := range n {
		url, headers := each(i)
		backend, _ := a.ask(url, headers...)
		out[backend]++
	}
	return out
}

// startBalanced is a sidecar that calls three endpoints of one service by the routes of
// balancedHosts.
func startBalanced(t *testing.T) (asker, *resolve.Model, *effective.Resolved) {
	t.Helper()
	a := asker{t, envoytest.Port(t)}
	text := fmt.Sprintf("type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n---\ntype: Dataplane\nmesh: default\nname: client\nnetworking: {address: 127.0.0.1, outbound: [{port: %d, hosts: {port: 80}}]}\n"+
		"---\ntype: MeshService\nmesh: default\nname: s\nlabels: {k8s.kuma.io/namespace: default}\nspec: {selector: {dataplaneTags: {app: s}}, ports: [{port: 80, targetPort: main, appProtocol: http}]}\n", a.listen)
	for i := range endpoints {
		b := envoytest.StartBackend(t, fmt.Sprintf("s-%d", i))
		text += fmt.Sprintf("---\ntype: Dataplane\nmesh: default\nname: %s\nnetworking: {address: 127.0.0.1, inbound: [{name: main, port: %d, tags: {app: s, kuma.io/service: s, kuma.io/protocol: http}}]}\n", b.Name, b.Port)
	}
	objects, err := decode.Objects(world.Catalog(), "balance.yaml", []byte(text+balancedHosts))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := world.Compile(world.Snapshot(objects...))
	r, _ := m.Dataplane(api.Ref{Kind: api.KindDataplane, Mesh: "default", Name: "client"})
	s := world.Settings{}.Renderer().Quiet().Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	envoytest.Drive(t, s)
	return a, m, r
}

const (
	atProxy   = "http://proxy.example.org"
	atGroup   = "http://group.example.org"
	endpoints = 3
	many      = 90 // enough to meet all endpoints
)

// TestBalanceInEnvoy: what is the same to a hash goes to the same endpoint, and all
// else to all of them; routes that want the same share a cluster.
func TestBalanceInEnvoy(t *testing.T) {
	t.Parallel()
	a, m, r := startBalanced(t)
	var names []string
	for _, c := range r.Clusters {
		names = append(names, c.Cluster.Name)
	}
	if want := []string{"s.default:80", "s.default:80~least-request", "s.default:80~least-request-of-all", "s.default:80~random", "s.default:80~ring-hash", "s.default:80~ring-hash-125"}; !slices.Equal(names, want) {
		t.Errorf("clusters %v, want %v", names, want)
	}
	for _, url := range []string{atProxy + "/turn", atGroup + "/turn"} {
		for backend, n := range a.spread(many, func(int) (string, []string) { return url, nil }) {
			if n < many/endpoints/2 || n > many/endpoints*2 {
				t.Errorf("%s: %s answers %d of %d", url, backend, n, many)
			}
		}
	}
	for _, url := range []string{atProxy + "/random", atProxy + "/least", atProxy + "/cookie", atGroup + "/random", atGroup + "/least"} {
		if got := a.spread(many, func(int) (string, []string) { return url, nil }); len(got) != endpoints {
			t.Errorf("%s: answered by %v alone", url, got)
		}
	}
	a.ask(atGroup + "/fewest") // where nothing is under way, one of several is as good as another
	a.hashes()
	a.sessions()
	for url, want := range map[string]int{atProxy + "/turn": 0, atGroup + "/random": 0, atGroup + "/client": 1, atProxy + "/cookie": 2} {
		v, err := sim.Run(m, r.Ref, wire.Request{URL: url})
		if err != nil || len(v.Unknown) != want || v.Branches[0].Outcome != sim.Forward {
			t.Errorf("%s: %v, unknown %v, want %d", url, err, v.Unknown, want)
		}
	}
}

// hashes: each value has its endpoint, and many values have all of them.
func (a asker) hashes() {
	for name, same := range map[string]func(value int) (string, []string){
		"header of HTTPProxy": func(v int) (string, []string) { return atProxy + "/header", []string{"X-User", fmt.Sprint(v)} },
		"query of HTTPProxy":  func(v int) (string, []string) { return fmt.Sprintf("%s/query?user=%d", atProxy, v), nil },
		"client of RouteGroup": func(v int) (string, []string) {
			return atGroup + "/client", []string{"X-Forwarded-For", fmt.Sprintf("10.0.0.%d", v)}
		},
		"header of RouteGroup": func(v int) (string, []string) { return atGroup + "/header", []string{"X-User", fmt.Sprint(v)} },
		"query of RouteGroup":  func(v int) (string, []string) { return fmt.Sprintf("%s/query?user=%d", atGroup, v), nil },
		"cookie of RouteGroup": func(v int) (string, []string) { return atGroup + "/own", []string{"Cookie", fmt.Sprintf("id=%d", v)} },
	} {
		for v := range 5 {
			if got := a.spread(8, func(int) (string, []string) { return same(v) }); len(got) != 1 {
				a.t.Errorf("%s %d: answered by %v", name, v, got)
			}
		}
		if got := a.spread(many, same); len(got) != endpoints {
			a.t.Errorf("%s: %d values are answered by %v alone", name, many, got)
		}
	}
}

// sessions: the proxy sets a cookie, and who brings it comes to where it was set.
func (a asker) sessions() {
	for range 4 {
		first, answer := a.ask(atProxy + "/cookie")
		cookies := answer.Cookies()
		if len(cookies) != 1 || cookies[0].Name != "X-Contour-Session-Affinity" {
			a.t.Fatalf("cookies %v", cookies)
		}
		for range 8 {
			if got, again := a.ask(atProxy+"/cookie", "Cookie", cookies[0].Name+"="+cookies[0].Value); got != first || len(again.Cookies()) > 0 {
				a.t.Errorf("the session of %s went to %s, with the cookies %v", first, got, again.Cookies())
			}
		}
	}
}
