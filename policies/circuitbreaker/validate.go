package circuitbreaker

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
)

// inherit is what to do where a limit cannot be.
const inherit = "leave it out to inherit what weaker policies set"

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.ConnectionLimits == nil && c.OutlierDetection == nil {
		f.Breaks(at, "sets nothing; set connectionLimits or outlierDetection")
	}
	if l := c.ConnectionLimits; l != nil {
		l.validate(&f, at.Field("connectionLimits"))
	}
	if o := c.OutlierDetection; o != nil {
		o.validate(&f, at.Field("outlierDetection"))
	}
	return f.Err()
}

func (l *ConnectionLimits) validate(f *policies.Findings, at api.Path) {
	if *l == (ConnectionLimits{}) {
		f.Breaks(at, "sets nothing; set maxConnections, maxRequests or another of its fields")
	}
	f.Least(at.Field("maxConnections"), l.MaxConnections, 1, inherit)
	f.Least(at.Field("maxPendingRequests"), l.MaxPendingRequests, 1, "without any every request fails, so "+inherit)
	f.Least(at.Field("maxRequests"), l.MaxRequests, 1, inherit)
	f.Least(at.Field("maxRetries"), l.MaxRetries, 1, "to repeat nothing write numRetries: 0 in a MeshRetry")
	f.Least(at.Field("maxConnectionPools"), l.MaxConnectionPools, 1, inherit)
	b := l.RetryBudget
	if b == nil {
		return
	}
	if l.MaxRetries != nil {
		f.Warns(at.Field("maxRetries"), api.CodeNoEffect, "retryBudget beside it stands in its place; remove one of them")
	}
	at = at.Field("retryBudget")
	if *b == (RetryBudget{}) {
		f.Breaks(at, "sets nothing; set budgetPercent or minRetryConcurrency")
	}
	f.Percentage(at.Field("budgetPercent"), b.BudgetPercent)
	f.Least(at.Field("minRetryConcurrency"), b.MinRetryConcurrency, 1, inherit)
}

func (o *OutlierDetection) validate(f *policies.Findings, at api.Path) {
	if *o == (OutlierDetection{}) {
		f.Breaks(at, "sets nothing; set detectors, disabled or another of its fields")
	}
	f.Positive(at.Field("interval"), o.Interval)
	f.Positive(at.Field("baseEjectionTime"), o.BaseEjectionTime)
	percent(f, at.Field("maxEjectionPercent"), o.MaxEjectionPercent)
	f.Percentage(at.Field("healthyPanicThreshold"), o.HealthyPanicThreshold)
	if isTrue(o.Disabled) && o.HealthyPanicThreshold != nil {
		f.Warns(at.Field("healthyPanicThreshold"), api.CodeNoEffect, "belongs to outlier detection, which is disabled beside it; remove one of them")
	}
	if o.Detectors != nil {
		o.Detectors.validate(f, at.Field("detectors"))
	}
}

func (d *Detectors) validate(f *policies.Findings, at api.Path) {
	if *d == (Detectors{}) {
		f.Breaks(at, "has no detector; write totalFailures, gatewayFailures, localOriginFailures, successRate or failurePercentage")
	}
	for _, x := range []struct {
		name string
		*Failures
	}{{"totalFailures", d.TotalFailures}, {"gatewayFailures", d.GatewayFailures}, {"localOriginFailures", d.LocalOriginFailures}} {
		if x.Failures == nil {
			continue
		}
		at := at.Field(x.name)
		if x.Consecutive == nil {
			f.Warns(at, api.CodeNoEffect, "switches nothing on; write consecutive: 5, or another number")
		}
		f.Least(at.Field("consecutive"), x.Consecutive, 1, "leave the detector out to have it off")
	}
	if s := d.SuccessRate; s != nil {
		at := at.Field("successRate")
		f.Least(at.Field("minimumHosts"), s.MinimumHosts, 1, inherit)
		f.Least(at.Field("requestVolume"), s.RequestVolume, 1, inherit)
		f.Decimal(at.Field("standardDeviationFactor"), s.StandardDeviationFactor, true)
	}
	if p := d.FailurePercentage; p != nil {
		at := at.Field("failurePercentage")
		f.Least(at.Field("minimumHosts"), p.MinimumHosts, 1, inherit)
		f.Least(at.Field("requestVolume"), p.RequestVolume, 1, inherit)
		percent(f, at.Field("threshold"), p.Threshold)
	}
}

func percent(f *policies.Findings, at api.Path, n *uint32) {
	if n != nil && *n > 100 {
		f.Breaks(at, "%d is more than all; write a number from 0 to 100", *n)
	}
}
