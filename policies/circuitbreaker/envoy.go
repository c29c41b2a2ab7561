package circuitbreaker

import (
	"math"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	upstreamhttpv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

// WriteCluster writes the bounds over those which are built in, and whom Envoy leaves out.
func (c *Conf) WriteCluster(cluster *clusterv3.Cluster, _ *upstreamhttpv3.HttpProtocolOptions, at envoy.Place) {
	if l := c.ConnectionLimits; l != nil {
		l.write(cluster, at)
	}
	if o := c.OutlierDetection; o.acting() {
		o.write(cluster, at)
	}
}

// Lb is the share of endpoints below which all are used.
func (c *Conf) Lb(envoy.Place) (out envoy.Lb) {
	if o := c.OutlierDetection; o != nil && !isTrue(o.Disabled) {
		out.Panic = envoy.Percent(o.HealthyPanicThreshold)
	}
	return out
}

func (l *ConnectionLimits) write(cluster *clusterv3.Cluster, at envoy.Place) {
	set := func(to **wrapperspb.UInt32Value, n *uint32) {
		if n != nil {
			*to = wrapperspb.UInt32(*n)
		}
	}
	t := &clusterv3.CircuitBreakers_Thresholds{}
	if b := cluster.CircuitBreakers; b != nil {
		t = b.Thresholds[0]
	}
	set(&t.MaxConnections, l.MaxConnections)
	set(&t.MaxPendingRequests, l.MaxPendingRequests)
	set(&t.MaxConnectionPools, l.MaxConnectionPools)
	if at.Protocol.HTTPLike() {
		set(&t.MaxRequests, l.MaxRequests)
		set(&t.MaxRetries, l.MaxRetries)
		if b := l.RetryBudget; b != nil { // which makes max_retries void (spec/kinds.md F7)
			t.MaxRetries, t.RetryBudget = nil, &clusterv3.CircuitBreakers_Thresholds_RetryBudget{BudgetPercent: envoy.Percent(b.BudgetPercent)}
			set(&t.RetryBudget.MinRetryConcurrency, b.MinRetryConcurrency)
		}
	}
	if cluster.CircuitBreakers == nil && (t.MaxConnections != nil || t.MaxPendingRequests != nil || t.MaxConnectionPools != nil || t.MaxRequests != nil || t.MaxRetries != nil || t.RetryBudget != nil) {
		cluster.CircuitBreakers = &clusterv3.CircuitBreakers{Thresholds: []*clusterv3.CircuitBreakers_Thresholds{t}}
	}
}

// write has a word on each detector: Envoy has some that act unless they are told not to.
func (o *OutlierDetection) write(cluster *clusterv3.Cluster, at envoy.Place) {
	d := o.Detectors
	out := &clusterv3.OutlierDetection{
		Interval: envoy.Duration(o.Interval), BaseEjectionTime: envoy.Duration(o.BaseEjectionTime), MaxEjectionPercent: number(o.MaxEjectionPercent),
		SplitExternalLocalOriginErrors: isTrue(o.SplitExternalAndLocalErrors),
		// Else an ejection ends with the next health check that passes (spec/kinds.md F20).
		SuccessfulActiveHealthCheckUnejectHost: wrapperspb.Bool(false),
	}
	if o.MaxEjectionPercent == nil || *o.MaxEjectionPercent > 0 { // else fewer than ten endpoints are never left out (spec/kinds.md F1)
		out.AlwaysEjectOneHost = wrapperspb.Bool(true)
	}
	out.Consecutive_5Xx, out.EnforcingConsecutive_5Xx = number(d.total()), on(d.total() != nil)
	gateway := d.gateway()
	if !at.Protocol.HTTPLike() {
		gateway = nil
	}
	out.ConsecutiveGatewayFailure, out.EnforcingConsecutiveGatewayFailure = number(gateway), on(gateway != nil)
	local := d.local()
	if !out.SplitExternalLocalOriginErrors {
		local = nil
	}
	out.ConsecutiveLocalOriginFailure, out.EnforcingConsecutiveLocalOriginFailure = number(local), on(local != nil)
	s := d.SuccessRate
	out.EnforcingSuccessRate, out.EnforcingLocalOriginSuccessRate = on(s != nil), on(s != nil)
	if s != nil {
		out.SuccessRateMinimumHosts, out.SuccessRateRequestVolume = number(s.MinimumHosts), number(s.RequestVolume)
		out.SuccessRateStdevFactor = thousandths(s.StandardDeviationFactor)
	}
	p := d.FailurePercentage
	out.EnforcingFailurePercentage, out.EnforcingFailurePercentageLocalOrigin = on(p != nil), on(p != nil)
	if p != nil {
		out.FailurePercentageMinimumHosts, out.FailurePercentageRequestVolume = number(p.MinimumHosts), number(p.RequestVolume)
		out.FailurePercentageThreshold = number(p.Threshold)
	}
	cluster.OutlierDetection = out
}

// on is whom of those that a detector finds Envoy leaves out, in percent.
func on(is bool) *wrapperspb.UInt32Value {
	if is {
		return wrapperspb.UInt32(100)
	}
	return wrapperspb.UInt32(0)
}

func number(n *uint32) *wrapperspb.UInt32Value {
	if n == nil {
		return nil
	}
	return wrapperspb.UInt32(*n)
}

func thousandths(d *policies.Decimal) *wrapperspb.UInt32Value {
	if d == nil {
		return nil
	}
	v, _ := d.Float()
	return wrapperspb.UInt32(uint32(math.Round(v * 1000)))
}
