package circuitbreaker

import (
	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/decode"
	"github.com/weftmesh/weft/policies"
)

// Conf bounds what is under way to a service at one time, and leaves out endpoints that fail.
type Conf struct {
	// ConnectionLimits bound what each proxy has under way to a service.
	ConnectionLimits *ConnectionLimits `json:"connectionLimits,omitempty" schema:"least=1"`
	// OutlierDetection leaves out endpoints that fail, for a while.
	OutlierDetection *OutlierDetection `json:"outlierDetection,omitempty" schema:"least=1"`
}

// ConnectionLimits bound what each calling proxy has under way. What is over a bound fails at once.
type ConnectionLimits struct {
	// MaxConnections is how many connections are open. Beyond that requests wait for one in HTTP/1, and
	// connections of TCP are closed. In HTTP/2 one connection carries many requests.
	MaxConnections *uint32 `json:"maxConnections,omitempty" weft:"cluster,limits" schema:"min=1"`
	// MaxPendingRequests is how many requests wait for a connection, or how many connections of TCP are
	// being opened.
	MaxPendingRequests *uint32 `json:"maxPendingRequests,omitempty" weft:"cluster,limits" schema:"min=1"`
	// MaxRequests is how many requests are under way.
	MaxRequests *uint32 `json:"maxRequests,omitempty" weft:"cluster,limits" schema:"min=1"`
	// MaxRetries is how many retries are under way. What retryBudget says stands in its place.
	MaxRetries *uint32 `json:"maxRetries,omitempty" weft:"cluster,limits" schema:"min=1"`
	// MaxConnectionPools is how many pools of connections there are.
	MaxConnectionPools *uint32 `json:"maxConnectionPools,omitempty" weft:"cluster,limits" schema:"min=1"`
	// RetryBudget bounds retries by how many requests there are, in place of maxRetries.
	RetryBudget *RetryBudget `json:"retryBudget,omitempty" schema:"least=1"`
}

// RetryBudget bounds retries by how many requests there are.
type RetryBudget struct {
	// BudgetPercent is how many of the requests under way may be retries, in percent.
	BudgetPercent *policies.Percentage `json:"budgetPercent,omitempty" weft:"cluster,budget"`
	// MinRetryConcurrency is how many retries may be under way however few requests there are.
	MinRetryConcurrency *uint32 `json:"minRetryConcurrency,omitempty" weft:"cluster,budget" schema:"min=1"`
}

// OutlierDetection leaves out endpoints that fail, for a while. It is on where a detector is.
type OutlierDetection struct {
	// Disabled switches off what weaker policies set.
	Disabled *bool `json:"disabled,omitempty" weft:"cluster,outlier"`
	// Interval is how often it is looked which endpoints come back, and which fail more than others.
	Interval *api.Duration `json:"interval,omitempty" weft:"cluster,outlier" schema:"is=positive"`
	// BaseEjectionTime is how long an endpoint is left out for the first time; the n-th time it is n times
	// as long, up to 300s, or this where it is longer.
	BaseEjectionTime *api.Duration `json:"baseEjectionTime,omitempty" weft:"cluster,outlier" schema:"is=positive"`
	// MaxEjectionPercent is how many of the endpoints are left out at most, in percent; one of them whatever
	// it says. 0 leaves out none, and only counts.
	MaxEjectionPercent *uint32 `json:"maxEjectionPercent,omitempty" weft:"cluster,outlier" schema:"max=100"`
	// SplitExternalAndLocalErrors tells what an endpoint answers from what keeps it from being reached.
	SplitExternalAndLocalErrors *bool `json:"splitExternalAndLocalErrors,omitempty" weft:"cluster,outlier"`
	// HealthyPanicThreshold is the share of endpoints that are well, in percent, below which all are used,
	// left out or not. 0 never does that. Envoy's is 50.
	HealthyPanicThreshold *policies.Percentage `json:"healthyPanicThreshold,omitempty" weft:"cluster,panic"`
	// Detectors are what an endpoint is left out for.
	Detectors *Detectors `json:"detectors,omitempty" schema:"least=1"`
}

// Detectors are what an endpoint is left out for. One that is not there leaves out nobody.
type Detectors struct {
	// TotalFailures counts answers of 500 and above in a row; without splitExternalAndLocalErrors also what
	// kept the endpoint from being reached.
	TotalFailures *Failures `json:"totalFailures,omitempty"`
	// GatewayFailures counts answers of 502, 503 and 504 in a row.
	GatewayFailures *Failures `json:"gatewayFailures,omitempty"`
	// LocalOriginFailures counts in a row what kept the endpoint from being reached: a refused connection, a
	// timeout. It needs splitExternalAndLocalErrors.
	LocalOriginFailures *Failures `json:"localOriginFailures,omitempty"`
	// SuccessRate compares the endpoints: those are left out whose share of successes is lower than that of
	// all by a factor of the standard deviation.
	SuccessRate *SuccessRate `json:"successRate,omitempty"`
	// FailurePercentage leaves out endpoints whose share of failures is as large as a threshold.
	FailurePercentage *FailurePercentage `json:"failurePercentage,omitempty"`
}

// Failures are counted in a row.
type Failures struct {
	// Consecutive is how many in a row leave an endpoint out. Without it the detector is off.
	Consecutive *uint32 `json:"consecutive,omitempty" weft:"cluster,outlier" schema:"min=1"`
}

// SuccessRate compares endpoints.
type SuccessRate struct {
	// MinimumHosts is how many endpoints need enough requests for a comparison.
	MinimumHosts *uint32 `json:"minimumHosts,omitempty" weft:"cluster,successRate" schema:"min=1"`
	// RequestVolume is how many requests in an interval are enough.
	RequestVolume *uint32 `json:"requestVolume,omitempty" weft:"cluster,successRate" schema:"min=1"`
	// StandardDeviationFactor is by how many standard deviations an endpoint may be worse than the mean.
	StandardDeviationFactor *policies.Decimal `json:"standardDeviationFactor,omitempty" weft:"cluster,successRate"`
}

// FailurePercentage leaves out endpoints by their share of failures.
type FailurePercentage struct {
	// MinimumHosts is how many endpoints need enough requests.
	MinimumHosts *uint32 `json:"minimumHosts,omitempty" weft:"cluster,failurePercentage" schema:"min=1"`
	// RequestVolume is how many requests in an interval are enough.
	RequestVolume *uint32 `json:"requestVolume,omitempty" weft:"cluster,failurePercentage" schema:"min=1"`
	// Threshold is the share of failures from which an endpoint is left out, in percent.
	Threshold *uint32 `json:"threshold,omitempty" weft:"cluster,failurePercentage" schema:"max=100"`
}

// DecodeRaw reads the block. An empty one switches the detector on as it is built in.
func (s *SuccessRate) DecodeRaw(raw decode.Raw) {
	if raw.Decode(s) && *s == (SuccessRate{}) {
		s.MinimumHosts = new(*successRate().MinimumHosts)
	}
}

// DecodeRaw reads the block. An empty one switches the detector on as it is built in.
func (p *FailurePercentage) DecodeRaw(raw decode.Raw) {
	if raw.Decode(p) && *p == (FailurePercentage{}) {
		p.MinimumHosts = new(*failurePercentage().MinimumHosts)
	}
}

// acting reports whether outlier detection leaves anybody out, or counts whom it would.
func (o *OutlierDetection) acting() bool {
	return o != nil && !isTrue(o.Disabled) && o.detects()
}

// detects reports whether a detector is on.
func (o *OutlierDetection) detects() bool {
	d := o.Detectors
	return d != nil && (d.total() != nil || d.gateway() != nil || d.local() != nil && isTrue(o.SplitExternalAndLocalErrors) ||
		d.SuccessRate != nil || d.FailurePercentage != nil)
}

func (d *Detectors) total() *uint32 {
	if d.TotalFailures == nil {
		return nil
	}
	return d.TotalFailures.Consecutive
}

func (d *Detectors) gateway() *uint32 {
	if d.GatewayFailures == nil {
		return nil
	}
	return d.GatewayFailures.Consecutive
}

func (d *Detectors) local() *uint32 {
	if d.LocalOriginFailures == nil {
		return nil
	}
	return d.LocalOriginFailures.Consecutive
}

func isTrue(b *bool) bool { return b != nil && *b }
