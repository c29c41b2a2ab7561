package identity_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	tcpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/direct_response/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/sidecar/identity"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/server/authority/workload"
)

const name = "spiffe://default/web"

// TestEnvoyIsServed: a real Envoy gets key and certificate by SDS, and shows each that takes the
// place of the one before; in its configuration and on the disk there is no key (I10).
func TestEnvoyIsServed(t *testing.T) {
	t.Parallel()
	dir := envoytest.Dir(t) // a socket has a short name
	root, err := workload.NewRoot("default", false, workload.RootLife, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	local := workload.NewLocal(root, time.Now)
	h := identity.New(func(ctx context.Context, q identity.CertifyRequest) (identity.CertifyResponse, error) {
		key, err := workload.PublicKey(q.Request)
		if err != nil {
			return identity.CertifyResponse{}, err
		}
		chain, err := local.Sign([]string{name}, key, time.Hour)
		return identity.CertifyResponse{Chain: string(chain.PEM()), Secret: naming.IdentitySecret("default"), Renew: time.Now().Add(time.Hour)}, err
	}, "", slog.New(slog.DiscardHandler))
	socket := filepath.Join(dir, "identity.sock")
	l, err := identity.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	go func() { _ = h.Serve(ctx, l) }()
	kept := make(chan struct{})
	go func() { h.Keep(ctx); close(kept) }()
	t.Cleanup(func() { stop(); <-kept })

	port, admin := envoytest.Port(t), envoytest.Socket(t)
	e := envoytest.Start(t, admin, bootstrap(t, socket, admin, port))
	first := shown(t, root, port, "")
	h.Again()
	second := shown(t, root, port, first)
	if first == second {
		t.Error("the certificate is the same")
	}
	if _, dump, err := e.Get("/config_dump?include_eds"); err != nil || strings.Contains(string(dump), "PRIVATE KEY") || strings.Contains(string(dump), "UFJJVkFURS") {
		t.Errorf("config_dump shows the key, %v", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Type() != os.ModeSocket {
		t.Errorf("the directory has %v, %v", entries, err)
	}
	if info, err := os.Stat(socket); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", info, err)
	}
}

// bootstrap is that of a listener whose certificate is the workload's.
func bootstrap(t *testing.T, socket, admin string, port uint32) []byte {
	t.Helper()
	raw, err := render.Bootstrap(render.Config{Mesh: "default", Name: "web-1", XDSHost: "127.0.0.1", XDSPort: 1, AgentSocket: socket, AdminSocket: admin})
	if err != nil {
		t.Fatal(err)
	}
	b := &bootstrapv3.Bootstrap{}
	if err := protojson.Unmarshal(raw, b); err != nil {
		t.Fatal(err)
	}
	b.DynamicResources = nil
	from := &corev3.ConfigSource{ResourceApiVersion: corev3.ApiVersion_V3, ConfigSourceSpecifier: &corev3.ConfigSource_ApiConfigSource{ApiConfigSource: &corev3.ApiConfigSource{
		ApiType: corev3.ApiConfigSource_GRPC, TransportApiVersion: corev3.ApiVersion_V3, SetNodeOnFirstMessageOnly: true,
		GrpcServices: []*corev3.GrpcService{{TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: naming.SidecarCluster}}}},
	}}}
	context := &tlsv3.DownstreamTlsContext{CommonTlsContext: &tlsv3.CommonTlsContext{TlsCertificateSdsSecretConfigs: []*tlsv3.SdsSecretConfig{{Name: naming.IdentitySecret("default"), SdsConfig: from}}}}
	answer := &tcpv3.Config{Response: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: "hello"}}}
	b.StaticResources.Listeners = []*listenerv3.Listener{{
		Name:    "in",
		Address: &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{Address: "127.0.0.1", PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}},
		FilterChains: []*listenerv3.FilterChain{{
			TransportSocket: &corev3.TransportSocket{Name: "envoy.transport_sockets.tls", ConfigType: &corev3.TransportSocket_TypedConfig{TypedConfig: envoy.Pack(context)}},
			Filters:         []*listenerv3.Filter{{Name: "envoy.filters.network.direct_response", ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(answer)}}},
		}},
	}}
	text, err := protojson.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// shown waits for a certificate that Envoy shows, another one than before, and returns its
// serial number.
func shown(t *testing.T, root *workload.Signer, port uint32, before string) string {
	t.Helper()
	pool := x509.NewCertPool()
	pool.AddCert(root.Certificate())
	var last error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		c, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{InsecureSkipVerify: true}) // who it is stands below
		if err != nil {
			last = err
			continue
		}
		chain := c.ConnectionState().PeerCertificates
		_ = c.Close()
		between := x509.NewCertPool()
		for _, x := range chain[1:] {
			between.AddCert(x)
		}
		if _, err := chain[0].Verify(x509.VerifyOptions{Roots: pool, Intermediates: between}); err != nil || len(chain[0].URIs) != 1 || chain[0].URIs[0].String() != name {
			t.Fatalf("%v %v", chain[0].URIs, err)
		}
		if serial := chain[0].SerialNumber.String(); serial != before {
			return serial
		}
	}
	t.Fatalf("no certificate in a minute: %v", last)
	return ""
}
