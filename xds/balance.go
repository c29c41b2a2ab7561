package xds

import (
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	leastv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/load_balancing_policies/least_request/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/route"
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
				TypedConfig: Pack(&leastv3.LeastRequest{SelectionMethod: leastv3.LeastRequest_FULL_SCAN})},
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
		SlowStartWindow:  Duration(&b.SlowStart),
		Aggression:       &corev3.RuntimeDouble{DefaultValue: 1 / b.Exponent, RuntimeKey: "weft.slow_start.aggression"},
		MinWeightPercent: &typev3.Percent{Value: float64(b.LeastWeight)},
	}
}

// aSession is the time for which Envoy sets a cookie that ends with the client's session.
const aSession time.Duration = 0

// hashPolicies are the keys as a route has them.
func hashPolicies(keys []route.HashKey) []*routev3.RouteAction_HashPolicy {
	var out []*routev3.RouteAction_HashPolicy
	for _, k := range keys {
		p := &routev3.RouteAction_HashPolicy{Terminal: k.Last}
		switch {
		case k.Header != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Header_{Header: &routev3.RouteAction_HashPolicy_Header{HeaderName: k.Header}}
		case k.Query != "":
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_QueryParameter_{QueryParameter: &routev3.RouteAction_HashPolicy_QueryParameter{Name: k.Query}}
		case k.Cookie != "":
			cookie := &routev3.RouteAction_HashPolicy_Cookie{Name: k.Cookie}
			if k.Session {
				cookie.Path, cookie.Ttl = "/", durationpb.New(aSession)
			}
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_Cookie_{Cookie: cookie}
		default:
			p.PolicySpecifier = &routev3.RouteAction_HashPolicy_ConnectionProperties_{ConnectionProperties: &routev3.RouteAction_HashPolicy_ConnectionProperties{SourceIp: true}}
		}
		out = append(out, p)
	}
	return out
}
