package trafficpermission_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	routerv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"
	"pgregory.net/rapid"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// authority is the roots of two trust domains, one of them the mesh's.
type authority struct {
	roots map[string]*workload.Signer
	mu    sync.Mutex
	known map[string]*http.Transport
}

func newAuthority(t testing.TB, domains ...string) *authority {
	t.Helper()
	a := &authority{roots: map[string]*workload.Signer{}, known: map[string]*http.Transport{}}
	for _, domain := range domains {
		root, err := workload.NewRoot(domain, false, workload.RootLife, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		a.roots[domain] = root
	}
	return a
}

// leaf is a certificate with names, by the root of a domain.
func (a *authority) leaf(t testing.TB, domain string, names ...string) tls.Certificate {
	t.Helper()
	by, err := a.roots[domain].Intermediate(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	key, err := workload.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	chain, err := by.Issue(names, &key.PublicKey, workload.CertificateLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	out := tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

// socket is the server's side of mutual TLS that believes each root in its own domain.
func (a *authority) socket(t testing.TB) *corev3.TransportSocket {
	t.Helper()
	text := func(pem []byte) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: pem}}
	}
	server := a.leaf(t, "default", "spiffe://default/server")
	var chain []byte
	for _, c := range server.Certificate {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c})...)
	}
	der, err := x509.MarshalPKCS8PrivateKey(server.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	validator := &tlsv3.SPIFFECertValidatorConfig{}
	for domain, root := range a.roots {
		validator.TrustDomains = append(validator.TrustDomains, &tlsv3.SPIFFECertValidatorConfig_TrustDomain{Name: domain,
			TrustBundle: text(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate().Raw}))})
	}
	return &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&tlsv3.DownstreamTlsContext{
		RequireClientCertificate: wrapperspb.Bool(true),
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: text(chain), PrivateKey: text(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))}},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				CustomValidatorConfig: &corev3.TypedExtensionConfig{Name: "envoy.tls.cert_validator.spiffe", TypedConfig: envoy.Pack(validator)}}},
		}})}}
}

// ask is the status that a caller gets; 0 where the connection fails.
func (a *authority) ask(t testing.TB, port uint32, host, text string) int {
	t.Helper()
	f := strings.Fields(text)
	scheme, transport := "https", a.transport(t, f[0])
	if f[0] == "-" {
		scheme = "http"
	}
	q, err := http.NewRequest(f[1], fmt.Sprintf("%s://127.0.0.1:%d", scheme, port), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host, q.URL.Opaque = host, f[2] // as it is written
	for _, h := range f[3:] {
		name, value, _ := strings.Cut(h, "=")
		q.Header.Set(name, value)
	}
	resp, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Do(q)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // nobody reads it
	return resp.StatusCode
}

// transport keeps the connections of a caller. It proves its names by the root of the domain
// of the first.
func (a *authority) transport(t testing.TB, who string) *http.Transport {
	a.mu.Lock()
	defer a.mu.Unlock()
	if x := a.known[who]; x != nil {
		return x
	}
	x := &http.Transport{}
	if who != "-" {
		names := asked(who).Names
		domain, _, _ := strings.Cut(strings.TrimPrefix(names[0], "spiffe://"), "/")
		x.TLSClientConfig = &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{a.leaf(t, domain, names...)}}
	}
	a.known[who] = x
	return x
}

// inbound is a listener with the chains mtls and plain at two ports, as an inbound has them,
// and a host for each of confs.
type inbound struct {
	*authority
	mtls, plain uint32
	envoy       *envoytest.Envoy
}

// place is what an inbound in a mesh with identities stands for.
func place(chain envoy.FilterChain) envoy.Place {
	return envoy.Place{Protocol: api.HTTP, Inbound: true, Chain: chain, Domains: []string{"default", "td"}}
}

func start(t testing.TB, confs ...policies.Conf) *inbound {
	t.Helper()
	in := &inbound{authority: newAuthority(t, "default", "td"), mtls: envoytest.Port(t), plain: envoytest.Port(t)}
	var hosts []*routev3.VirtualHost
	for i, c := range confs {
		host := &routev3.VirtualHost{Name: strconv.Itoa(i), Domains: []string{strconv.Itoa(i)}, Routes: []*routev3.Route{{
			Match:  &routev3.RouteMatch{PathSpecifier: &routev3.RouteMatch_Prefix{Prefix: "/"}},
			Action: &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: 200}}}}}
		if w, ok := c.(envoy.InboundWriter); ok {
			w.WriteInbound(&host.TypedPerFilterConfig, place(envoy.MTLS))
		}
		hosts = append(hosts, host)
	}
	admin := envoytest.Socket(t)
	static := &bootstrapv3.Bootstrap_StaticResources{Listeners: []*listenerv3.Listener{
		in.listener(t, envoy.MTLS, in.mtls, hosts, confs), in.listener(t, envoy.Plain, in.plain, hosts, confs)}}
	in.envoy = envoytest.Start(t, admin, envoytest.JSON(t, envoytest.Bootstrap(admin, static))).Ready()
	return in
}

func (in *inbound) listener(t testing.TB, chain envoy.FilterChain, port uint32, hosts []*routev3.VirtualHost, confs []policies.Conf) *listenerv3.Listener {
	t.Helper()
	m := &hcmv3.HttpConnectionManager{StatPrefix: string(chain), NormalizePath: wrapperspb.Bool(true),
		HttpFilters:    trafficpermission.Kind.New().(envoy.Guard).GuardRequests(place(chain)),
		RouteSpecifier: &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: &routev3.RouteConfiguration{VirtualHosts: hosts}}}
	m.HttpFilters = append(m.HttpFilters, &hcmv3.HttpFilter{Name: "envoy.filters.http.router", ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&routerv3.Router{})}})
	for _, c := range confs {
		if w, ok := c.(envoy.ManagerWriter); ok {
			w.WriteManager(m, place(chain))
		}
	}
	out := listening(port, &listenerv3.Filter{Name: "hcm", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(m)}})
	if chain == envoy.MTLS {
		out.FilterChains[0].TransportSocket = in.socket(t)
	}
	return out
}

func listening(port uint32, filters ...*listenerv3.Filter) *listenerv3.Listener {
	return &listenerv3.Listener{Name: fmt.Sprint(port), FilterChains: []*listenerv3.FilterChain{{Filters: filters}},
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
			Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}}}
}

// port is where a caller calls.
func (in *inbound) port(text string) uint32 {
	if strings.HasPrefix(text, "-") {
		return in.plain
	}
	return in.mtls
}

func confOf(t worldT, specs ...string) policies.Conf {
	t.Helper()
	if len(specs) == 0 {
		return nil
	}
	return trafficpermission.Kind.Gather(callers, collected(t, specs...)).Conf
}

// anyWorld is what is said of one inbound.
var anyWorld = rapid.Custom(func(t *rapid.T) []string {
	return rapid.SliceOfN(rapid.OneOf(anyRules, anyFrom), 0, 4).Draw(t, "documents")
})

// TestDecisionIsEnvoys: what Decide says of callers, methods and paths under random
// permissions is what a real Envoy does, and counts.
func TestDecisionIsEnvoys(t *testing.T) {
	t.Parallel()
	const worlds = 60
	var specs [][]string
	var confs []policies.Conf
	for i := range worlds {
		specs = append(specs, anyWorld.Example(i))
		confs = append(confs, confOf(t, specs[i]...))
	}
	in := start(t, confs...)
	differ, n, allowed := 0, 0, 0
	for i := range confs {
		p := permissionsOf(t, specs[i]...)
		if len(specs[i]) == 0 {
			p = nil
		}
		for _, text := range questions {
			v := p.Decide(asked(text))
			status := http.StatusForbidden
			if v.Allowed {
				status = http.StatusOK
				allowed++
			}
			n++
			if got := in.ask(t, in.port(text), strconv.Itoa(i), text); got != status {
				differ++
				t.Errorf("%s: %d, and Decide says %s, under\n%s", text, got, verdict(v), strings.Join(specs[i], "\n"))
				if differ > 5 {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d requests, %d allowed", n, allowed)
	if allowed < n/10 || allowed > n*9/10 {
		t.Error("these worlds tell little apart")
	}
}
