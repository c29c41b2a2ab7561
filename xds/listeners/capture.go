package listeners

import (
	"slices"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	httpinspectorv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/listener/http_inspector/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
	"github.com/weftmesh/weft/xds/origin"
	"github.com/weftmesh/weft/xds/resource"
)

const (
	httpInspector = "envoy.filters.listener.http_inspector"
)

// inspectionTime is how long a listener waits for the first bytes of a client, until it
// lets pass whatever comes: those of other protocols may wait for the server's.
const inspectionTime = time.Second

// AnyIPv4 stands for every address.
const AnyIPv4 = "0.0.0.0"

// Capture is the listener for one direction of redirected traffic, which hands connections to a
// cluster. It listens at the first of the sidecar's own ports. A connection to one of them ends,
// for it would go on to the sidecar itself, and to this listener for ever (spec/kubernetes.md 5.4).
func Capture(r *effective.Resolved, name, to, ip string, direction corev3.TrafficDirection, own ...uint32) *resource.Resource {
	listener := &listenerv3.Listener{
		Name: name, Address: envoy.Socket(ip, own[0]), TrafficDirection: direction, UseOriginalDst: wrapperspb.Bool(true), Metadata: origin.Metadata([]*api.Origin{{Ref: r.Ref}}),
	}
	slices.Sort(own)
	for _, p := range slices.Compact(own) {
		listener.FilterChains = append(listener.FilterChains, &listenerv3.FilterChain{
			FilterChainMatch: &listenerv3.FilterChainMatch{DestinationPort: wrapperspb.UInt32(p)}, Filters: bytesTo(naming.Unresolved, name),
		})
	}
	listener.FilterChains = append(listener.FilterChains, &listenerv3.FilterChain{Filters: bytesTo(to, name)})
	out := resource.New(name, listener)
	out.Clusters = []string{name}
	return out
}

// CaptureOwn listens at an address of the dataplane itself, where the hosts at a port would be
// called: what comes there is for the workload, and would go out again if it came to the listener
// for all addresses.
func CaptureOwn(r *effective.Resolved, ip string, port uint32, cluster string) *resource.Resource {
	name := naming.InboundPassthrough + naming.Address(ip, port)
	out := resource.New(name, &listenerv3.Listener{
		Name: name, Address: envoy.Socket(ip, port), TrafficDirection: corev3.TrafficDirection_INBOUND, BindToPort: wrapperspb.Bool(false),
		FilterChains: []*listenerv3.FilterChain{{Filters: bytesTo(Undeclared(r, cluster), name)}}, Metadata: origin.Metadata([]*api.Origin{{Ref: r.Ref}}),
	})
	out.Clusters = []string{cluster}
	return out
}

// Undeclared is where connections go to ports of the workload that no inbound names: there, or,
// where the dataplane is strict, nowhere (spec/identity.md 3.2).
func Undeclared(r *effective.Resolved, there string) string {
	if r.Closed != nil {
		return naming.Unresolved
	}
	return there
}

// bytesTo are the filters that hand whole connections to a cluster.
func bytesTo(cluster, stat string) []*listenerv3.Filter {
	return []*listenerv3.Filter{{Name: tcpProxyFilter, ConfigType: &listenerv3.Filter_TypedConfig{TypedConfig: envoy.Pack(&tcpproxyv3.TcpProxy{
		StatPrefix: stat, ClusterSpecifier: &tcpproxyv3.TcpProxy_Cluster{Cluster: cluster},
	})}}}
}

// lookFirst makes l look at the first bytes of a connection: requests go by filters, all
// else to where it was going.
func lookFirst(l *listenerv3.Listener, filters []*listenerv3.Filter) {
	l.ListenerFilters = []*listenerv3.ListenerFilter{{
		Name: httpInspector, ConfigType: &listenerv3.ListenerFilter_TypedConfig{TypedConfig: envoy.Pack(&httpinspectorv3.HttpInspector{})},
	}}
	l.ListenerFiltersTimeout, l.ContinueOnListenerFiltersTimeout = durationpb.New(inspectionTime), true
	l.FilterChains = []*listenerv3.FilterChain{
		{FilterChainMatch: &listenerv3.FilterChainMatch{ApplicationProtocols: []string{"http/1.1", "h2c"}}, Filters: filters},
		{Filters: bytesTo(naming.Passthrough, l.Name)},
	}
}

// changeNothing makes m leave requests and answers of hosts that no route serves as they come, as far as
// what it does for all of them goes.
func changeNothing(m *hcmv3.HttpConnectionManager) {
	m.HttpProtocolOptions.HeaderKeyFormat = envoy.AsWritten()
	m.ServerHeaderTransformation = hcmv3.HttpConnectionManager_PASS_THROUGH
}
