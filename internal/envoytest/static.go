package envoytest

import (
	"bytes"
	"encoding/json"
	"testing"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/bootstrap"
	"github.com/weftmesh/weft/xds/bootstrap/render"
	"github.com/weftmesh/weft/xds/resource"
)

// Bootstrap is a bootstrap without a control plane: its administration
// interface is the unix socket admin, its regex budget that of weft.
func Bootstrap(admin string, static *bootstrapv3.Bootstrap_StaticResources) *bootstrapv3.Bootstrap {
	return &bootstrapv3.Bootstrap{
		Node:            &corev3.Node{Id: "test", Cluster: "test"},
		Admin:           &bootstrapv3.Admin{Address: &corev3.Address{Address: &corev3.Address_Pipe{Pipe: &corev3.Pipe{Path: admin}}}},
		StaticResources: static,
		LayeredRuntime: &bootstrapv3.LayeredRuntime{Layers: []*bootstrapv3.RuntimeLayer{{
			Name: "test",
			LayerSpecifier: &bootstrapv3.RuntimeLayer_StaticLayer{StaticLayer: &structpb.Struct{Fields: map[string]*structpb.Value{
				bootstrap.RegexBudgetKey: structpb.NewNumberValue(render.RegexBudget),
			}}},
		}}},
	}
}

// JSON is m as Envoy reads it from a file.
func JSON(t testing.TB, m proto.Message) []byte {
	t.Helper()
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer // protojson varies its spaces
	if err := json.Indent(&out, b, "", " "); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// EchoCluster is a static cluster of one backend that any number of tests may
// call, and repeat their calls, at one time.
func EchoCluster(name string, b *Backend) *clusterv3.Cluster {
	return &clusterv3.Cluster{
		Name:                 name,
		ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC},
		CircuitBreakers: &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{{
			MaxConnections: wrapperspb.UInt32(10_000), MaxPendingRequests: wrapperspb.UInt32(10_000),
			MaxRequests: wrapperspb.UInt32(10_000), MaxRetries: wrapperspb.UInt32(10_000),
		}}},
		LoadAssignment: &endpointv3.ClusterLoadAssignment{
			ClusterName: name,
			Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
				HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: tcp(b.Host, b.Port)}},
			}}}},
		},
	}
}

func tcp(host string, port uint32) *corev3.Address {
	return &corev3.Address{Address: &corev3.Address_SocketAddress{SocketAddress: &corev3.SocketAddress{
		Address: host, PortSpecifier: &corev3.SocketAddress_PortValue{PortValue: port},
	}}}
}

// Open unpacks a resource into m.
func Open[M proto.Message](t testing.TB, r *resource.Resource, m M) M {
	t.Helper()
	if err := r.Content().UnmarshalTo(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Listener unpacks a listener.
func Listener(t testing.TB, r *resource.Resource) *listenerv3.Listener {
	t.Helper()
	return Open(t, r, &listenerv3.Listener{})
}
