package loadbalancingstrategy

import (
	"math"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// The hash functions of a ring.
const xxHash, murmurHash = "XXHash", "MurmurHash2"

// biasKey is weft's own, so that nobody's runtime layer says otherwise by chance.
const biasKey = "weft.least_request.active_request_bias"

// WriteCluster sets how an endpoint is chosen, unless a route says it of the cluster.
func (c *Conf) WriteCluster(cluster *clusterv3.Cluster, _ *upstreamhttpv3.HttpProtocolOptions, at envoy.Place) {
	if b := c.LoadBalancer; b != nil && !at.Balanced {
		b.write(cluster, c.typ())
	}
	c.overprovision(cluster)
}

func (b *LoadBalancer) write(cluster *clusterv3.Cluster, typ string) {
	switch typ {
	case random:
		cluster.LbPolicy = clusterv3.Cluster_RANDOM
	case leastRequest:
		cluster.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
		if l := b.LeastRequest; l != nil && (l.ChoiceCount != nil || l.ActiveRequestBias != nil) {
			cluster.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: l.config()}
		}
	case ringHash:
		cluster.LbPolicy = clusterv3.Cluster_RING_HASH
		if r := b.RingHash; r != nil && (r.HashFunction != nil || r.MinRingSize != nil || r.MaxRingSize != nil) {
			cluster.LbConfig = &clusterv3.Cluster_RingHashLbConfig_{RingHashLbConfig: r.config()}
		}
	case maglev:
		cluster.LbPolicy = clusterv3.Cluster_MAGLEV
		if m := b.Maglev; m != nil && m.TableSize != nil {
			cluster.LbConfig = &clusterv3.Cluster_MaglevLbConfig_{MaglevLbConfig: &clusterv3.Cluster_MaglevLbConfig{TableSize: wrapperspb.UInt64(uint64(*m.TableSize))}}
		}
	}
}

func (l *LeastRequest) config() *clusterv3.Cluster_LeastRequestLbConfig {
	out := &clusterv3.Cluster_LeastRequestLbConfig{}
	if l.ChoiceCount != nil {
		out.ChoiceCount = wrapperspb.UInt32(*l.ChoiceCount)
	}
	if d := l.ActiveRequestBias; d != nil {
		v, _ := d.Float()
		out.ActiveRequestBias = &corev3.RuntimeDouble{DefaultValue: v, RuntimeKey: biasKey}
	}
	return out
}

func (r *RingHash) config() *clusterv3.Cluster_RingHashLbConfig {
	out := &clusterv3.Cluster_RingHashLbConfig{}
	if is(r.HashFunction, murmurHash) {
		out.HashFunction = clusterv3.Cluster_RingHashLbConfig_MURMUR_HASH_2
	}
	least, largest := r.sizes()
	if r.MinRingSize != nil || least > largest {
		out.MinimumRingSize = wrapperspb.UInt64(uint64(min(least, largest)))
	}
	if r.MaxRingSize != nil {
		out.MaximumRingSize = wrapperspb.UInt64(uint64(largest))
	}
	return out
}

// sizes are those of the ring, as Envoy has them where nobody says one.
func (r *RingHash) sizes() (least, largest uint32) {
	least, largest = 1024, largestRing
	if r.MinRingSize != nil {
		least = *r.MinRingSize
	}
	if r.MaxRingSize != nil {
		largest = *r.MaxRingSize
	}
	return least, largest
}

// Adjustments are rings that documents, each of them sound, have together and Envoy would refuse.
func (c *Conf) Adjustments() []policies.Adjustment {
	if c.typ() != ringHash || c.LoadBalancer.RingHash == nil {
		return nil
	}
	if least, largest := c.LoadBalancer.RingHash.sizes(); least <= largest {
		return nil
	}
	return []policies.Adjustment{{
		Field: "loadBalancer.ringHash.minRingSize", Against: "loadBalancer.ringHash.maxRingSize",
		Message: "minRingSize is more than maxRingSize, which holds for both; make it at most as much",
	}}
}

// WriteRoute says by what of a request an endpoint is chosen. What a route says by itself stands over what is
// said of its service, and under what is said of the route.
func (c *Conf) WriteRoute(r *routev3.Route, at envoy.Place) {
	action := r.GetRoute()
	list, field := c.hash()
	if action == nil || list == nil {
		return
	}
	if f, ok := at.Said.Get(field); ok && at.Hashed && f.Winner().Layer < merge.Inline && !f.Winner().Override {
		return
	}
	action.HashPolicy = nil
	for i := range list {
		action.HashPolicy = append(action.HashPolicy, list[i].write())
	}
}

func (h *HashPolicy) write() *routev3.RouteAction_HashPolicy {
	out := &routev3.RouteAction_HashPolicy{Terminal: isTrue(h.Terminal)}
	switch h.Type {
	case byHeader:
		out.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: h.Header.Name}}
	case byCookie:
		cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: h.Cookie.Name, Ttl: envoy.Duration(h.Cookie.TTL)}
		if h.Cookie.Path != nil {
			cookie.Path = *h.Cookie.Path
		}
		out.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: cookie}
	case byQuery:
		out.PolicySpecifier = &routev3.RouteAction_HashPolicy_QueryParameter_{QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: h.QueryParameter.Name}}
	case byState:
		out.PolicySpecifier = &routev3.RouteAction_HashPolicy_FilterState_{FilterState: &routev3.RouteAction_HashPolicy_FilterState{Key: h.FilterState.Key}}
	default:
		out.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true}}
	}
	return out
}

// WriteTCP says by what of a connection an endpoint is chosen: the first entry that connections have.
func (c *Conf) WriteTCP(t *tcpproxyv3.TcpProxy, _ envoy.Place) {
	list, _ := c.hash()
	for i := range list {
		switch h := &list[i]; h.Type {
		case byConnection, bySource:
			t.HashPolicy = []*typev3.HashPolicy{{PolicySpecifier: &typev3.HashPolicy_SourceIp_{SourceIp: &typev3.HashPolicy_SourceIp{}}}}
			return
		case byState:
			t.HashPolicy = []*typev3.HashPolicy{{PolicySpecifier: &typev3.HashPolicy_FilterState_{FilterState: &typev3.HashPolicy_FilterState{Key: h.FilterState.Key}}}}
			return
		}
	}
}

// overprovision says from when endpoints of the next priority are used too, where the cluster has its
// endpoints: those of a MeshExternalService have priorities.
func (c *Conf) overprovision(cluster *clusterv3.Cluster) {
	if c.LocalityAwareness == nil || c.LocalityAwareness.CrossZone == nil || cluster.LoadAssignment == nil {
		return
	}
	if cluster.LoadAssignment.Policy == nil {
		cluster.LoadAssignment.Policy = &endpointv3.ClusterLoadAssignment_Policy{}
	}
	cluster.LoadAssignment.Policy.OverprovisioningFactor = wrapperspb.UInt32(c.factor())
}

// factor is Envoy's overprovisioning in hundredths.
func (c *Conf) factor() uint32 {
	x := c.LocalityAwareness.CrossZone
	if x == nil || x.FailoverThreshold == nil {
		return 200
	}
	n, _ := x.FailoverThreshold.Percentage.Millionths()
	return max(100, uint32(math.Round(10_000*10_000/float64(n))))
}
