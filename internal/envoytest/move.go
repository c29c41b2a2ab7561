package envoytest

import (
	"net/netip"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	tracev3 "github.com/envoyproxy/go-control-plane/envoy/config/trace/v3"
	tlsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/transport_sockets/tls/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/resource"
)

// Places say where on loopback is what a state has elsewhere.
type Places struct {
	Listener func(at netip.AddrPort) netip.AddrPort
	// Endpoint gets the name of the cluster too, and a host that may be a name.
	Endpoint func(cluster, host string, port uint32) netip.AddrPort
}

// Move is a copy of s that listens and calls at places: its listeners are bound, whoever
// would redirect traffic to them, and what is behind a name is known without asking for
// it. Where traffic goes on to where it was going, which nobody knows who did not redirect
// it, it comes to the endpoint of an empty host. Nothing else is changed.
func Move(t testing.TB, s *resource.State, to Places) *resource.State {
	t.Helper()
	out := *s
	out.Listeners, out.Clusters, out.Endpoints = nil, nil, nil
	for _, r := range s.Listeners {
		l := Listener(t, r)
		at := l.Address.GetSocketAddress()
		place := to.Listener(netip.AddrPortFrom(netip.MustParseAddr(at.Address), uint16(at.GetPortValue())))
		l.Address, l.BindToPort = tcp(place.Addr().String(), uint32(place.Port())), nil
		out.Listeners = append(out.Listeners, prefixed(t, "", r, l))
	}
	for _, r := range s.Clusters {
		c := Open(t, r, &clusterv3.Cluster{})
		c.UpstreamBindConfig = nil
		if c.LoadAssignment != nil && c.GetType() == clusterv3.Cluster_STRICT_DNS {
			c.ClusterDiscoveryType, c.DnsLookupFamily = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, 0
		}
		if c.GetType() == clusterv3.Cluster_ORIGINAL_DST {
			c.ClusterDiscoveryType, c.LbPolicy = &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, 0
			c.LoadAssignment = somewhere(c.Name)
		}
		moveEndpoints(c.Name, c.LoadAssignment, to)
		out.Clusters = append(out.Clusters, prefixed(t, "", r, c))
	}
	for _, r := range s.Endpoints {
		e := Open(t, r, &endpointv3.ClusterLoadAssignment{})
		moveEndpoints(r.Name, e, to)
		out.Endpoints = append(out.Endpoints, prefixed(t, "", r, e))
	}
	return &out
}

// somewhere is an endpoint to be moved.
func somewhere(cluster string) *endpointv3.ClusterLoadAssignment {
	return &endpointv3.ClusterLoadAssignment{ClusterName: cluster, Endpoints: []*endpointv3.LocalityLbEndpoints{{LbEndpoints: []*endpointv3.LbEndpoint{{
		HostIdentifier: &endpointv3.LbEndpoint_Endpoint{Endpoint: &endpointv3.Endpoint{Address: tcp("", 1)}}}}}}}
}

func moveEndpoints(cluster string, list *endpointv3.ClusterLoadAssignment, to Places) {
	for _, group := range list.GetEndpoints() {
		for _, e := range group.LbEndpoints {
			at := e.GetEndpoint().GetAddress().GetSocketAddress()
			if _, err := netip.ParseAddr(at.GetAddress()); err != nil && e.GetEndpoint().Hostname == "" {
				e.GetEndpoint().Hostname = at.GetAddress() // which Envoy may write into requests
			}
			place := to.Endpoint(cluster, at.GetAddress(), at.GetPortValue())
			e.GetEndpoint().Address = tcp(place.Addr().String(), uint32(place.Port()))
		}
	}
}

// Unlimited is a copy of s in which no bucket runs dry within a test.
func Unlimited(t testing.TB, s *resource.State) *resource.State {
	t.Helper()
	const plenty = 1 << 31
	fill := func(m proto.Message) {
		if b, ok := m.(*typev3.TokenBucket); ok {
			b.MaxTokens, b.TokensPerFill = plenty, wrapperspb.UInt32(plenty)
		}
	}
	out := *s
	for _, list := range []*[]*resource.Resource{&out.Listeners, &out.Routes} {
		var filled []*resource.Resource
		for _, r := range *list {
			m, err := r.Content().UnmarshalNew()
			if err != nil {
				t.Fatal(err)
			}
			within(t, m.ProtoReflect(), fill)
			filled = append(filled, prefixed(t, "", r, m))
		}
		*list = filled
	}
	return &out
}

// within visits m and all messages below it, in packed ones too.
func within(t testing.TB, m protoreflect.Message, visit func(proto.Message)) {
	t.Helper()
	if packed, ok := m.Interface().(*anypb.Any); ok {
		inner, err := packed.UnmarshalNew()
		if err != nil {
			t.Fatal(err)
		}
		within(t, inner.ProtoReflect(), visit)
		if err := packed.MarshalFrom(inner); err != nil {
			t.Fatal(err)
		}
		return
	}
	visit(m.Interface())
	m.Range(func(fd protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case fd.IsMap():
			if fd.MapValue().Message() != nil {
				v.Map().Range(func(_ protoreflect.MapKey, x protoreflect.Value) bool {
					within(t, x.Message(), visit)
					return true
				})
			}
		case fd.Message() == nil:
		case fd.IsList():
			for i := range v.List().Len() {
				within(t, v.List().Get(i).Message(), visit)
			}
		default:
			within(t, v.Message(), visit)
		}
		return true
	})
}

// prefixInside prefixes what else a listener or cluster names: secrets that come from the
// control plane, the authorization service, and collectors of spans.
func prefixInside(t testing.TB, prefix string, of proto.Message) {
	t.Helper()
	within(t, of.ProtoReflect(), func(m proto.Message) {
		switch m := m.(type) {
		case *tlsv3.SdsSecretConfig:
			if m.SdsConfig != nil {
				m.Name = prefix + m.Name
			}
		case *corev3.GrpcService_EnvoyGrpc:
			if m.ClusterName != naming.SidecarCluster { // which is one for all: that of the bootstrap
				m.ClusterName = prefix + m.ClusterName
			}
		case *tracev3.ZipkinConfig:
			m.CollectorCluster = prefix + m.CollectorCluster
		case *tracev3.DatadogConfig:
			m.CollectorCluster = prefix + m.CollectorCluster
		}
	})
}
