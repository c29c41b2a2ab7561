package clusters

import (
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
)

const leastRequest = "envoy.load_balancing_policies.least_request"

// balance sets how the cluster chooses an endpoint. RoundRobin is Envoy's own.
func balance(out *clusterv3.Cluster, b route.Balance) {
	slow := slowStart(b)
	switch b.Algorithm {
	case route.RoundRobin:
		if slow != nil {
			out.LbConfig = &clusterv3.Cluster_RoundRobinLbConfig_{RoundRobinLbConfig: &clusterv3.Cluster_RoundRobinLbConfig{SlowStartConfig: slow}}
		}
	case route.Random:
		out.LbPolicy = clusterv3.Cluster_RANDOM
	case route.LeastRequest:
		out.LbPolicy = clusterv3.Cluster_LEAST_REQUEST
		if slow != nil {
			out.LbConfig = &clusterv3.Cluster_LeastRequestLbConfig_{LeastRequestLbConfig: &clusterv3.Cluster_LeastRequestLbConfig{SlowStartConfig: slow}}
		}
	case route.LeastRequestOfAll: // which only the extension can
		out.LoadBalancingPolicy = &clusterv3.LoadBalancingPolicy{Policies: []*clusterv3.LoadBalancingPolicy_Policy{{
			TypedExtensionConfig: &corev3.TypedExtensionConfig{Name: leastRequest,
				TypedConfig: envoy.Pack(&leastv3.LeastRequest{SelectionMethod: leastv3.LeastRequest_FULL_SCAN})},
		}}}
	case route.RingHash:
		out.LbPolicy = clusterv3.Cluster_RING_HASH
		if b.Bound > 0 {
			out.CommonLbConfig = &clusterv3.Cluster_CommonLbConfig{ConsistentHashingLbConfig: &clusterv3.Cluster_CommonLbConfig_ConsistentHashingLbConfig{
				HashBalanceFactor: wrapperspb.UInt32(b.Bound)}}
		}
	}
}

// slowStart is nil where new endpoints get their whole part at once. Envoy's part of one
// grows by its part of the time to the power of the reciprocal of aggression.
func slowStart(b route.Balance) *clusterv3.Cluster_SlowStartConfig {
	if b.SlowStart <= 0 {
		return nil
	}
	return &clusterv3.Cluster_SlowStartConfig{
		SlowStartWindow:  envoy.Duration(&b.SlowStart),
		Aggression:       &corev3.RuntimeDouble{DefaultValue: 1 / b.Exponent, RuntimeKey: "weft.slow_start.aggression"},
		MinWeightPercent: &typev3.Percent{Value: float64(b.LeastWeight)},
	}
}
