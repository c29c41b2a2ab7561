package toykind_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/resolve"
	"github.com/weftmesh/weft/xds"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

// rendered is what backend gets.
func rendered(t *testing.T, m *resolve.Model) *resource.State {
	t.Helper()
	r, _ := m.Dataplane(dataplane("backend"))
	s := xds.NewRenderer(kinds()).Render(r)
	if len(s.Notes) > 0 {
		t.Fatalf("notes: %v", s.Notes)
	}
	return s
}

func find(t *testing.T, list []*resource.Resource, name string) *resource.Resource {
	t.Helper()
	i := slices.IndexFunc(list, func(r *resource.Resource) bool { return strings.HasSuffix(r.Name, name) })
	if i < 0 {
		t.Fatalf("no %s", name)
	}
	return list[i]
}

// TestRendered: the filter of the kind is in the chain of callers who have proved a name, beside those of
// permissions; the routes of the inbound say who the guests are; and a list changes no listener.
func TestRendered(t *testing.T) {
	t.Parallel()
	without := rendered(t, compile(guarded(t, "STRICT", everybody)...))
	listed := rendered(t, compile(guarded(t, "STRICT", everybody, guests)...))
	if find(t, listed.Listeners, ":80").Version != find(t, without.Listeners, ":80").Version {
		t.Error("a list changes a listener that reads requests")
	}
	with := rendered(t, compile(guarded(t, "STRICT", everybody, guests, routes, atRule)...))
	config := envoytest.Open(t, find(t, with.Routes, ":80"+naming.GuardedRoutes), &routev3.RouteConfiguration{})
	host := config.VirtualHosts[0]
	wants(t, "the host", protojson.Format(host), "toy.guests", "weft.rbac.allow", "spiffe://default/web")
	if len(host.Routes) != 2 {
		t.Fatalf("%d routes", len(host.Routes))
	}
	wants(t, "the rule", protojson.Format(host.Routes[0]), "toy.guests", "weft.rbac.allow", "spiffe://default/ops", "MeshGuestList")
	if strings.Contains(protojson.Format(host.Routes[1]), "toy.guests") {
		t.Error("a route without a list of its own has one")
	}
	connections := envoytest.Listener(t, find(t, with.Listeners, ":90"))
	wants(t, "connections", protojson.Format(connections), "toy.guests", "weft.rbac.allow")
}

// identity makes certificates of one root.
type identity struct {
	t    *testing.T
	root *workload.Signer
}

func (a *identity) leaf(names ...string) tls.Certificate {
	by, err := a.root.Intermediate(time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	key, err := workload.NewKey()
	if err != nil {
		a.t.Fatal(err)
	}
	chain, err := by.Issue(names, &key.PublicKey, workload.CertificateLife, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	out := tls.Certificate{PrivateKey: key}
	for _, c := range chain {
		out.Certificate = append(out.Certificate, c.Raw)
	}
	return out
}

// socket is the server's side of mutual TLS.
func (a *identity) socket() *corev3.TransportSocket {
	text := func(blocks ...*pem.Block) *corev3.DataSource {
		var out []byte
		for _, b := range blocks {
			out = append(out, pem.EncodeToMemory(b)...)
		}
		return &corev3.DataSource{Specifier: &corev3.DataSource_InlineBytes{InlineBytes: out}}
	}
	own := a.leaf("spiffe://default/backend")
	var chain []*pem.Block
	for _, c := range own.Certificate {
		chain = append(chain, &pem.Block{Type: "CERTIFICATE", Bytes: c})
	}
	key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	return &corev3.TransportSocket{Name: "tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(&tlsv3.DownstreamTlsContext{
		RequireClientCertificate: wrapperspb.Bool(true),
		CommonTlsContext: &tlsv3.CommonTlsContext{
			TlsCertificates: []*tlsv3.TlsCertificate{{CertificateChain: text(chain...), PrivateKey: text(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}},
			ValidationContextType: &tlsv3.CommonTlsContext_ValidationContext{ValidationContext: &tlsv3.CertificateValidationContext{
				TrustedCa: text(&pem.Block{Type: "CERTIFICATE", Bytes: a.root.Certificate().Raw})}}}})}}
}

// manager is the connection manager of the chain of callers who have proved a name, with its routes
// inline, which answer 200 where they forward.
func manager(t *testing.T, s *resource.State) *listenerv3.Filter {
	t.Helper()
	config := envoytest.Open(t, find(t, s.Routes, ":80"+naming.GuardedRoutes), &routev3.RouteConfiguration{})
	for _, r := range config.VirtualHosts[0].Routes {
		if r.GetRoute() != nil {
			r.Action = &routev3.Route_DirectResponse{DirectResponse: &routev3.DirectResponseAction{Status: http.StatusOK}}
		}
	}
	for _, chain := range envoytest.Listener(t, find(t, s.Listeners, ":80")).FilterChains {
		if chain.Name != string(envoy.MTLS) {
			continue
		}
		of := chain.Filters[len(chain.Filters)-1]
		m := &hcmv3.HttpConnectionManager{}
		if err := of.GetTypedConfig().UnmarshalTo(m); err != nil {
			t.Fatal(err)
		}
		m.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: config}
		return &listenerv3.Filter{Name: of.Name, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(m)}}
	}
	t.Fatal("no chain of callers who have proved a name")
	return nil
}

// TestEnvoyAgrees: a real Envoy with what is rendered lets in whom the simulator lets in.
func TestEnvoyAgrees(t *testing.T) {
	t.Parallel()
	root, err := workload.NewRoot("default", false, workload.RootLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	a := &identity{t, root}
	worlds := [][]string{{everybody}, {everybody, guests}, {everybody, tagged}, {guests}, {opsOnly, guests}, {everybody, guests, routes, atRule},
		{everybody, routes, atRule, webAtRule}, {routes, atRule}, nil}
	static, ports, models := &bootstrapv3.Bootstrap_StaticResources{}, []uint32{}, []*resolve.Model{}
	for _, documents := range worlds {
		m, port := compile(guarded(t, "STRICT", documents...)...), envoytest.Port(t)
		models, ports = append(models, m), append(ports, port)
		static.Listeners = append(static.Listeners, &listenerv3.Listener{Name: fmt.Sprint(port),
			Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
				Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}},
			FilterChains: []*listenerv3.FilterChain{{Filters: []*listenerv3.Filter{manager(t, rendered(t, m))}, TransportSocket: a.socket()}}})
	}
	admin := envoytest.Socket(t)
	envoytest.Start(t, admin, envoytest.JSON(t, envoytest.Bootstrap(admin, static))).Ready()
	let := 0
	for _, from := range []string{"web", "ops"} {
		c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{a.leaf("spiffe://default/"+from, "kuma://kuma.io/service/"+from, "kuma://kuma.io/protocol/http")}}}}
		t.Cleanup(c.CloseIdleConnections)
		for i, port := range ports {
			for _, path := range []string{"/", "/admin"} {
				resp, err := c.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, path))
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				says := asked(t, models[i], from, path)
				if in := strings.HasPrefix(says, "forward"); in != (resp.StatusCode == http.StatusOK) || !in && resp.StatusCode != http.StatusForbidden {
					t.Errorf("%s %s: %d, and the simulator says %s, with\n%s", from, path, resp.StatusCode, says, strings.Join(worlds[i], "\n"))
				} else if in {
					let++
				}
			}
		}
	}
	if let < 8 {
		t.Errorf("%d requests got in: these worlds tell little apart", let)
	}
}
