// Package circuitbreaker is the policy MeshCircuitBreaker: bounds of what is under way to a service, and
// endpoints that are left out for a while because they fail (spec/kinds.md 1).
//
// It promises that one endpoint at a time is left out however few there are, unless a document says none,
// and that one which is left out stays so for its time, whatever health checks say meanwhile.
package circuitbreaker

import (
	_ "embed"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

//go:embed example.yaml
var example string

//go:embed initial.yaml
var initial string

// Kind is all of this package that the engine sees.
var Kind = &policies.Kind{
	Name:         "MeshCircuitBreaker",
	Plural:       "meshcircuitbreakers",
	Short:        "mcb",
	Title:        "Bounds what is under way to a service, and leaves out endpoints that fail",
	New:          func() policies.Conf { return new(Conf) },
	Schema:       policies.SchemaOf[Conf](),
	From:         true,
	Rules:        true,
	NoMatches:    true,
	Defaults:     defaults,
	Applies:      acts,
	Requires:     requires,
	Relaxes:      looser,
	Alternatives: []policies.Alternatives{{One: limits + "maxRetries", Other: limits + "retryBudget"}},
	Initial:      &policies.Initial{Name: "mesh-circuit-breaker-all-", Spec: initial},
	OnAttempts:   true,
	Docs:         docs,
	Example:      example,
}

// The blocks of a document, as paths begin.
const limits, outlier, detectors = "connectionLimits.", "outlierDetection.", "outlierDetection.detectors."

// acts: connections have neither requests nor answers.
func acts(path string, p api.Protocol) bool {
	if p.HTTPLike() {
		return true
	}
	switch path {
	case limits + "maxRequests", limits + "maxRetries", limits + "retryBudget.budgetPercent", limits + "retryBudget.minRetryConcurrency",
		detectors + "gatewayFailures.consecutive":
		return false
	}
	return true
}

// requires: a budget stands in the place of a number of retries, and without a detector nobody is left out.
func requires(of policies.Conf, path string) string {
	c := of.(*Conf)
	if path == limits+"maxRetries" && c.ConnectionLimits.RetryBudget != nil {
		return "retryBudget stands beside it, and Envoy then counts by that alone"
	}
	if !strings.HasPrefix(path, outlier) {
		return ""
	}
	o := c.OutlierDetection
	switch {
	case path == outlier+"disabled":
		return ""
	case isTrue(o.Disabled):
		return "outlier detection is disabled"
	case path == outlier+"healthyPanicThreshold":
		return ""
	case path == detectors+"localOriginFailures.consecutive" && !isTrue(o.SplitExternalAndLocalErrors):
		return "splitExternalAndLocalErrors is not true, so failures to reach an endpoint are not counted by themselves"
	case !o.detects():
		return "no detector is on"
	}
	return ""
}

// looser: a higher limit, and no outlier detection at all.
func looser(path string, before, after any) bool {
	switch b := before.(type) {
	case *uint32:
		a, ok := after.(*uint32)
		return ok && strings.HasPrefix(path, limits) && *a > *b
	case *policies.Percentage:
		a, ok := after.(*policies.Percentage)
		if !ok || !strings.HasPrefix(path, limits) {
			return false
		}
		more, _ := a.Millionths()
		less, _ := b.Millionths()
		return more > less
	case *bool:
		a, ok := after.(*bool)
		return ok && path == outlier+"disabled" && *a && !*b
	}
	return false
}

// AsOverride says beside detectors that they are on: what a weaker policy disabled is on again.
func (c *Conf) AsOverride() policies.Conf {
	if o := c.OutlierDetection; o != nil && o.Detectors != nil && o.Disabled == nil {
		both := *o
		both.Disabled = new(false)
		return &Conf{ConnectionLimits: c.ConnectionLimits, OutlierDetection: &both}
	}
	return c
}

// defaults is the table of spec/kinds.md 1. Its limits hold in each cluster whether a policy says something
// of it or not.
func defaults() policies.Conf {
	all := policies.Percentage("20")
	return &Conf{
		ConnectionLimits: &ConnectionLimits{
			MaxConnections: new(uint32(envoy.MaxConnections)), MaxPendingRequests: new(uint32(envoy.MaxPendingRequests)),
			MaxRequests: new(uint32(envoy.MaxRequests)), MaxRetries: new(uint32(envoy.MaxRetries)),
			RetryBudget: &RetryBudget{BudgetPercent: &all, MinRetryConcurrency: new(uint32(3))},
		},
		OutlierDetection: &OutlierDetection{
			Interval: new(api.Duration(10 * time.Second)), BaseEjectionTime: new(api.Duration(30 * time.Second)), MaxEjectionPercent: new(uint32(10)),
			Detectors: &Detectors{SuccessRate: successRate(), FailurePercentage: failurePercentage()},
		},
	}
}

func successRate() *SuccessRate {
	factor := policies.Decimal("1.9")
	return &SuccessRate{MinimumHosts: new(uint32(5)), RequestVolume: new(uint32(100)), StandardDeviationFactor: &factor}
}

func failurePercentage() *FailurePercentage {
	return &FailurePercentage{MinimumHosts: new(uint32(5)), RequestVolume: new(uint32(50)), Threshold: new(uint32(85))}
}
