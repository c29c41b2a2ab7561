package trafficpermission_test

import (
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/trafficpermission"
	"github.com/weftmesh/weft/xds/envoy"
)

const greeting = "220 ready\r\n"

// greeted is a listener of bytes to a workload that speaks first.
func (a *authority) greeted(t testing.TB, port uint32, conf policies.Conf) *listenerv3.Listener {
	t.Helper()
	guard := trafficpermission.Kind.New().(envoy.Guard)
	filters := guard.GuardConnections(conf, envoy.Place{Protocol: api.TCP, Inbound: true, Chain: envoy.MTLS, Domains: []string{"default", "td"}})
	filters = append(filters, &listenerv3.Filter{Name: "tcp", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(&tcpproxyv3.TcpProxy{
		StatPrefix: "tcp", ClusterSpecifier: &tcpproxyv3.TcpProxy_Cluster{Cluster: "greeter"}})}})
	out := listening(port, filters...)
	socket := a.socket(t)
	if names, ok := guard.Callers(conf); ok {
		context := &tlsv3.DownstreamTlsContext{}
		if err := socket.GetTypedConfig().UnmarshalTo(context); err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			v := context.CommonTlsContext.GetValidationContext()
			v.MatchTypedSubjectAltNames = append(v.MatchTypedSubjectAltNames, &tlsv3.SubjectAltNameMatcher{SanType: tlsv3.SubjectAltNameMatcher_URI, Matcher: n})
		}
		socket.ConfigType = &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(context)}
	}
	out.FilterChains[0].TransportSocket = socket
	return out
}

// hear is what a caller that says nothing hears until the connection ends or the greeting is
// complete; after that it says a word, and alive tells whether the workload answers.
func (a *authority) hear(t testing.TB, port uint32, who string) (heard string, alive bool) {
	t.Helper()
	config := a.transport(t, who).TLSClientConfig.Clone()
	config.MaxVersion = tls.VersionTLS12 // as the mesh's clients: a refusal comes within the handshake (F5)
	conn, err := tls.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.FormatUint(uint64(port), 10)), config)
	if err != nil {
		return "", false
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, len(greeting))
	n, _ := io.ReadFull(conn, text) // what came is told
	if _, err := conn.Write([]byte("hello\n")); err != nil {
		return string(text[:n]), false
	}
	_, err = io.ReadFull(conn, make([]byte, 1))
	return string(text[:n]), err == nil
}

// TestGreeting: to a caller whom an allow list does not name a workload that speaks first says
// nothing at all where names alone decide; where they do not, Envoy asks at the caller's
// first byte, when the greeting is out (spec/identity.md 8, case 31; 0, F10).
func TestGreeting(t *testing.T) {
	t.Parallel()
	a := newAuthority(t, "default", "td")
	confs := []policies.Conf{
		confOf(t, `{rules: [{default: {allow: [{spiffeID: {type: Exact, value: spiffe://default/a}}, {spiffeID: {type: Prefix, value: spiffe://default/ns}}]}}]}`),
		confOf(t, `{rules: [{default: {allow: [{spiffeID: {type: Prefix, value: spiffe://default}}], deny: [{spiffeID: {type: Exact, value: spiffe://default/b}}]}}]}`),
	}
	upstream := startGreeter(t)
	var ports []uint32
	static := &bootstrapv3.Bootstrap_StaticResources{Clusters: []*clusterv3.Cluster{{Name: "greeter", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: "greeter", Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: listening(upstream).Address}}}}}}}}}}
	for _, c := range confs {
		ports = append(ports, envoytest.Port(t))
		static.Listeners = append(static.Listeners, a.greeted(t, ports[len(ports)-1], c))
	}
	admin := envoytest.Socket(t)
	envoytest.Start(t, admin, envoytest.JSON(t, envoytest.Bootstrap(admin, static))).Ready()
	for _, c := range []struct {
		listener int
		who      string
		heard    string
		alive    bool
	}{
		{0, "a", greeting, true}, {0, "ns/x", greeting, true}, {0, "b", "", false}, {0, "nsx", "", false}, {0, "spiffe://td/a", "", false},
		{1, "a", greeting, true}, {1, "b", greeting, false}, {1, "a+spiffe://td/a", greeting, false},
	} {
		if heard, alive := a.hear(t, ports[c.listener], c.who); heard != c.heard || alive != c.alive {
			t.Errorf("listener %d, %s: hears %q, answered %v", c.listener, c.who, heard, alive)
		}
	}
}

// startGreeter starts a workload that speaks first, and answers a line by a byte.
func startGreeter(t testing.TB) uint32 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, greeting) // who is gone hears nothing
				if _, err := io.ReadFull(c, make([]byte, 6)); err == nil {
					_, _ = io.WriteString(c, ".")
				}
			}()
		}
	}()
	return uint32(l.Addr().(*net.TCPAddr).Port)
}
