package xds_test

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	caresv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/network/dns_resolver/cares/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weftmesh/weft/internal/envoytest"
	"github.com/weftmesh/weft/xds/bootstrap/render"
)

// TestASilentNameserver: an Envoy that knows an external service gives up its name after a few
// questions to a nameserver that never answers, and serves everything else.
func TestASilentNameserver(t *testing.T) {
	t.Parallel()
	nameserver, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	go func() {
		for b := make([]byte, 512); ; asked.Add(1) {
			if _, _, err := nameserver.ReadFrom(b); err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = nameserver.Close() })

	c := config()
	c.AdminSocket = filepath.Join(envoytest.Dir(t), "admin")
	text, err := render.Bootstrap(c)
	b, resolver := &bootstrapv3.Bootstrap{}, &caresv3.CaresDnsResolverConfig{}
	if err == nil {
		err = protojson.Unmarshal(text, b)
	}
	if err == nil {
		err = b.TypedDnsResolverConfig.TypedConfig.UnmarshalTo(resolver)
	}
	if err != nil {
		t.Fatal(err)
	}
	resolver.Resolvers = []*corev3.Address{address("127.0.0.1", uint32(nameserver.LocalAddr().(*net.UDPAddr).Port))}
	if err := b.TypedDnsResolverConfig.TypedConfig.MarshalFrom(resolver); err != nil {
		t.Fatal(err)
	}
	b.DynamicResources = nil // nobody answers there either
	b.StaticResources.Clusters = []*clusterv3.Cluster{{
		Name: "external", ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STRICT_DNS}, DnsLookupFamily: clusterv3.Cluster_V4_PREFERRED,
		LoadAssignment: &endpointv3.ClusterLoadAssignment{ClusterName: "external", Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
			HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: address("api.example.org", 80)}},
		}}}}},
	}}
	envoytest.Start(t, c.AdminSocket, envoytest.JSON(t, b)).Ready()
	if n := asked.Load(); n == 0 || n > 6 {
		t.Errorf("live after %d questions to the nameserver, want some, and no more than 6", n)
	}
}

func address(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port}}}}
}
