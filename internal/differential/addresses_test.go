package differential

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/control/world"
	"github.com/weftmesh/weft/internal/certs"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/route/skipper"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/sim/wire"
)

// outsideGroup names addresses; PLAIN and TLS are ports of this machine.
const outsideGroup = `---
apiVersion: zalando.org/v1
kind: RouteGroup
metadata: {name: out, namespace: default}
spec:
  hosts: [out.example.org]
  backends:
  - {name: name, type: network, address: "http://a.localhost:PLAIN"}
  - {name: ip, type: network, address: "http://127.0.0.1:PLAIN"}
  - {name: tls, type: network, address: "https://a.localhost:TLS"}
  - {name: untrue, type: network, address: "https://c.localhost:TLS"}
  - {name: two, type: lb, endpoints: ["https://a.localhost:TLS", "https://b.localhost:TLS"]}
  - {name: same, type: lb, endpoints: ["http://127.0.0.1:PLAIN", "http://127.0.0.2:PLAIN"], algorithm: ALGORITHM}
  - {name: dynamic, type: dynamic}
  - {name: s, serviceName: s, servicePort: 80}
  routes:
  - {path: /name, backends: [{backendName: name}], filters: ['modPath("^/name", "/new")']}
  - {path: /kept, backends: [{backendName: name}], filters: ['preserveHost("true")']}
  - {path: /set, backends: [{backendName: name}], filters: ['setRequestHeader("Host", "set.example.org")']}
  - {path: /ip, backends: [{backendName: ip}]}
  - {path: /tls, backends: [{backendName: tls}]}
  - {path: /untrue, backends: [{backendName: untrue}]}
  - {path: /dynamic, backends: [{backendName: dynamic}], filters: ['setDynamicBackendUrl("https://b.localhost:TLS")']}
  - {path: /two, backends: [{backendName: two}]}
  - {path: /same, backends: [{backendName: same}]}
  - {path: /split, backends: [{backendName: ip, weight: 3}, {backendName: s, weight: 1}]}
`

// startOutside is a server at two addresses that says what it was asked, and its port.
func startOutside(t *testing.T, pair *certs.Pair) string {
	t.Helper()
	first, second, port := listenTwice(t)
	startAt(t, first, pair)
	startAt(t, second, pair)
	return port
}

// listenTwice listens at one port of 127.0.0.1 and of 127.0.0.2.
func listenTwice(t *testing.T) (first, second net.Listener, port string) {
	t.Helper()
	for range 100 {
		one, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := fmt.Sprint(one.Addr().(*net.TCPAddr).Port)
		two, err := net.Listen("tcp", "127.0.0.2:"+port)
		if err == nil {
			return one, two, port
		}
		one.Close() // somebody has the port there
	}
	t.Fatal("no port is free at two addresses")
	return nil, nil, ""
}

func startAt(t *testing.T, l net.Listener, pair *certs.Pair) {
	t.Helper()
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("saw", r.Host+r.URL.Path)
		if r.TLS != nil {
			w.Header().Set("sni", r.TLS.ServerName)
		}
	})}}
	if pair == nil {
		server.Start()
	} else {
		own, err := tls.X509KeyPair(pair.Chain, pair.Key)
		if err != nil {
			t.Fatal(err)
		}
		server.TLS = &tls.Config{Certificates: []tls.Certificate{own}}
		server.StartTLS()
	}
	t.Cleanup(server.Close)
}

// TestAddressesInEnvoy: backends at addresses get requests by their own host, where no
// filter says otherwise, and by TLS if they prove their name, for every algorithm.
func TestAddressesInEnvoy(t *testing.T) {
	t.Parallel()
	pair := certs.New(t, "a.localhost", "b.localhost")
	plain, secured := startOutside(t, nil), startOutside(t, pair)
	hosts, err := skipper.ParseAddresses([]string{"*.localhost", "127.0.0.0/8"})
	if err != nil {
		t.Fatal(err)
	}
	settings := world.Settings{BackendAddresses: hosts}
	authority := &tlsv3.Secret{Name: "system_ca", Type: &tlsv3.Secret_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
		TrustedCa: &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: pair.Chain}}}}}
	for _, algorithm := range []string{"roundRobin", "random", "consistentHash", "powerOfRandomNChoices", "leastRequests", "weightedRoundRobin"} {
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			a := asker{t, envoytest.Port(t)}
			s := envoytest.StartBackend(t, "s")
			text := fmt.Sprintf("type: Mesh\nname: default\nmeshServices: {mode: Exclusive}\n---\ntype: Dataplane\nmesh: default\nname: client\nnetworking: {address: 127.0.0.1, outbound: [{port: %d, hosts: {port: 80}}]}\n"+
				"---\ntype: MeshService\nmesh: default\nname: s\nlabels: {k8s.kuma.io/namespace: default}\nspec: {selector: {dataplaneTags: {app: s}}, ports: [{port: 80, targetPort: main, appProtocol: http}]}\n"+
				"---\ntype: Dataplane\nmesh: default\nname: s\nnetworking: {address: 127.0.0.1, inbound: [{name: main, port: %d, tags: {app: s, kuma.io/service: s, kuma.io/protocol: http}}]}\n", a.listen, s.Port)
			text += strings.NewReplacer("PLAIN", plain, "TLS", secured, "ALGORITHM", algorithm).Replace(outsideGroup)
			objects, err := decode.Objects(world.Catalog(), "outside.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			m, _ := settings.Compile(world.Snapshot(objects...))
			r, _ := m.Dataplane(client)
			state := settings.Renderer().Quiet().Render(r)
			if len(state.Notes) > 0 {
				t.Fatalf("notes: %v", state.Notes)
			}
			envoytest.Drive(t, state, authority)
			for _, c := range []struct{ path, saw, sni string }{
				{"/name", "a.localhost:" + plain + "/new", ""}, {"/kept", "out.example.org/kept", ""}, {"/set", "set.example.org/set", ""}, {"/ip", "127.0.0.1:" + plain + "/ip", ""},
				{"/tls", "a.localhost:" + secured + "/tls", "a.localhost"}, {"/dynamic", "b.localhost:" + secured + "/dynamic", "b.localhost"},
			} {
				_, answer := a.ask("http://out.example.org" + c.path)
				if saw, sni := answer.Header.Get("saw"), answer.Header.Get("sni"); saw != c.saw || sni != c.sni {
					t.Errorf("%s: the backend saw %s by %q, want %s by %q", c.path, saw, sni, c.saw, c.sni)
				}
				v, err := sim.Run(m, client, wire.Request{URL: "http://out.example.org" + c.path})
				if err != nil {
					t.Fatal(err)
				}
				if f := v.Branches[0].Forwarded; f.Authority+f.Path != c.saw {
					t.Errorf("%s: sim says %s%s, want %s", c.path, f.Authority, f.Path, c.saw)
				}
			}
			a.several(secured, plain)
			a.same(plain, algorithm == "consistentHash")
		})
	}
}

// several asks what several answer: each by its own host and name, and nobody who does
// not prove his.
func (a asker) several(secured, plain string) {
	a.t.Helper()
	seen := map[string]bool{}
	services := 0
	for range many {
		_, two := a.ask("http://out.example.org/two")
		seen[two.Header.Get("saw")+" "+two.Header.Get("sni")] = true
		if backend, split := a.ask("http://out.example.org/split"); backend == "s" {
			services++
		} else if saw := split.Header.Get("saw"); saw != "127.0.0.1:"+plain+"/split" {
			a.t.Errorf("a part of a split was seen as %s", saw)
		}
	}
	for _, want := range []string{"a.localhost:" + secured + "/two a.localhost", "b.localhost:" + secured + "/two b.localhost"} {
		if !seen[want] {
			a.t.Errorf("nobody saw %s, but %v", want, seen)
		}
	}
	if services < many/10 || services > many/2 {
		a.t.Errorf("the service got %d of %d, want a quarter", services, many)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodGet, "http://out.example.org/untrue", nil)
	if err != nil {
		a.t.Fatal(err)
	}
	req.URL.Host = fmt.Sprintf("127.0.0.1:%d", a.listen)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	if resp.Body.Close(); resp.StatusCode != http.StatusServiceUnavailable {
		a.t.Errorf("an address that does not prove its name: %d, want 503", resp.StatusCode)
	}
}

// same asks two addresses that answer alike: both get requests, each by its own host; where
// clients are told apart, each client comes to one of them.
func (a asker) same(plain string, byClient bool) {
	a.t.Helper()
	const clients = 20
	got := map[string]map[string]bool{} // clients by who saw them
	for n := range many {
		ip := fmt.Sprint("192.0.2.", 1+n%clients)
		_, answer := a.ask("http://out.example.org/same", "x-forwarded-for", ip)
		saw := answer.Header.Get("saw")
		if got[saw] == nil {
			got[saw] = map[string]bool{}
		}
		got[saw][ip] = true
	}
	one, two := got["127.0.0.1:"+plain+"/same"], got["127.0.0.2:"+plain+"/same"]
	if len(one) == 0 || len(two) == 0 || len(got) != 2 {
		a.t.Errorf("the addresses saw %v", got)
	}
	if byClient && len(one)+len(two) != clients {
		a.t.Errorf("of %d clients one address saw %d and the other %d, want each at one of them", clients, len(one), len(two))
	}
}

// TestAddressesThatAreRefused: a group that names an address where it may not is not
// applied, and says where.
func TestAddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		address string
		allowed []string
		refused bool
	}{
		{"http://127.0.0.1:9901", nil, true}, {"http://[::1]:9901", nil, true}, {"http://[::ffff:127.0.0.1]", nil, true}, {"http://0.0.0.0:80", nil, true}, {"http://localhost", nil, true},
		{"http://a.localhost", nil, true}, {"http://169.254.169.254", nil, true}, {"http://[fe80::1]", nil, true}, {"http://224.0.0.1", nil, true},
		{"http://192.0.2.1", nil, false}, {"https://api.example.org", nil, false}, {"http://10.0.0.1", nil, false},
		{"https://api.example.org", []string{"*.example.org"}, false}, {"https://example.com", []string{"*.example.org"}, true},
		{"http://10.1.2.3", []string{"10.0.0.0/8"}, false}, {"http://11.1.2.3", []string{"10.0.0.0/8"}, true}, {"http://127.0.0.1", []string{"127.0.0.1"}, false},
		{"http://192.0.2.1", []string{"none"}, true}, {"http://127.0.0.1", []string{"*"}, false},
	} {
		hosts, err := skipper.ParseAddresses(c.allowed)
		if err != nil {
			t.Fatal(err)
		}
		text := "type: Mesh\nname: default\n---\n{apiVersion: zalando.org/v1, kind: RouteGroup, metadata: {name: g, namespace: default}, spec: {hosts: [g.example], backends: [{name: n, type: network, address: \"" + c.address + "\"}], defaultBackends: [{backendName: n}]}}"
		objects, err := decode.Objects(world.Catalog(), "group.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		m, _ := world.Settings{BackendAddresses: hosts}.Compile(world.Snapshot(objects...))
		notes := m.Reader(nil).NotesOn(api.Ref{Kind: "RouteGroup", Mesh: "default", Namespace: "default", Name: "g"})
		refused := false
		for _, n := range notes {
			refused = refused || n.Code == "UnsupportedBackend" && n.Field == "spec.backends[0].address" && strings.Contains(n.Message, "--backend-addresses")
		}
		if refused != c.refused {
			t.Errorf("%s where %v may be named: refused is %v, want %v: %v", c.address, c.allowed, refused, c.refused, notes)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/40", "http://x", "a b"} {
		if _, err := skipper.ParseAddresses([]string{bad}); err == nil {
			t.Errorf("%q is read as a host", bad)
		}
	}
	for _, list := range [][]string{{"*", "none"}, {"none", "10.0.0.1"}} {
		if _, err := skipper.ParseAddresses(list); err == nil {
			t.Errorf("%q is read, and none stands beside a host", list)
		}
	}
}
