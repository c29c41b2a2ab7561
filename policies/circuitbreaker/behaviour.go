package circuitbreaker

import (
	"fmt"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/sim"
	"github.com/weftmesh/weft/xds/envoy"
)

// Bounds are the limits that are others than those which are built in.
func (c *Conf) Bounds(spoken api.Protocol) (out []sim.Bound) {
	l := c.ConnectionLimits
	if l == nil {
		return nil
	}
	say := func(n *uint32, builtIn uint32, what, over, field string) {
		if n != nil && *n != builtIn {
			out = append(out, sim.Bound{Most: fmt.Sprintf("%d %s", *n, what), Over: over, Field: limits + field})
		}
	}
	if !spoken.HTTPLike() {
		say(l.MaxConnections, envoy.MaxConnections, "connections", "closed", "maxConnections")
		say(l.MaxPendingRequests, envoy.MaxPendingRequests, "connections that are being opened", "closed", "maxPendingRequests")
		return out
	}
	const overflow = "answered 503 (UO)"
	say(l.MaxRequests, envoy.MaxRequests, "requests", overflow, "maxRequests")
	if spoken == api.HTTP { // else one connection has many requests
		say(l.MaxConnections, envoy.MaxConnections, "connections, and maxPendingRequests that wait for one", overflow, "maxConnections")
	}
	say(l.MaxPendingRequests, envoy.MaxPendingRequests, "requests that wait for a connection", overflow, "maxPendingRequests")
	switch b := l.RetryBudget; {
	case b != nil:
		percent, field := "20", limits+"retryBudget.minRetryConcurrency"
		if b.BudgetPercent != nil {
			percent, field = string(*b.BudgetPercent), limits+"retryBudget.budgetPercent"
		}
		out = append(out, sim.Bound{Most: percent + "% of the requests as retries", Over: "not repeated", Field: field, Retries: true})
	case l.MaxRetries != nil && *l.MaxRetries != envoy.MaxRetries:
		out = append(out, sim.Bound{Most: fmt.Sprintf("%d retries", *l.MaxRetries), Over: "not repeated", Field: limits + "maxRetries", Retries: true})
	}
	return out
}

// Limits are those of connections and of requests.
func (c *Conf) Limits() (connections, requests sim.Limit) {
	if l := c.ConnectionLimits; l != nil {
		connections, requests = limitOf(l.MaxConnections, limits+"maxConnections"), limitOf(l.MaxRequests, limits+"maxRequests")
	}
	return connections, requests
}

func limitOf(n *uint32, field string) sim.Limit {
	if n == nil {
		return sim.Limit{}
	}
	return sim.Limit{Most: *n, Field: field}
}

// Ejects is how many endpoints may be left out.
func (c *Conf) Ejects() (e sim.Ejects, ok bool) {
	o := c.OutlierDetection
	if !o.acting() {
		return e, false
	}
	if p := o.MaxEjectionPercent; p != nil && *p == 0 {
		e.Nobody = outlier + "maxEjectionPercent"
	} else if t := o.HealthyPanicThreshold; t != nil && p != nil && *p == 100 {
		if n, ok := t.Millionths(); ok && n == 0 {
			e.All = outlier + "healthyPanicThreshold"
		}
	}
	if s := o.Detectors.SuccessRate; s != nil {
		e.Compared = append(e.Compared, limitOf(s.MinimumHosts, detectors+"successRate.minimumHosts"))
	}
	if p := o.Detectors.FailurePercentage; p != nil {
		e.Compared = append(e.Compared, limitOf(p.MinimumHosts, detectors+"failurePercentage.minimumHosts"))
	}
	return e, true
}

// Ejections are the detectors that count in a row.
func (c *Conf) Ejections(spoken api.Protocol) (out []sim.Ejection) {
	o := c.OutlierDetection
	if !o.acting() || o.MaxEjectionPercent != nil && *o.MaxEjectionPercent == 0 {
		return nil
	}
	base, unless := 30*time.Second, "it is used all the same while fewer than 50% are left"
	if o.BaseEjectionTime != nil {
		base = time.Duration(*o.BaseEjectionTime)
	}
	if p := o.HealthyPanicThreshold; p != nil {
		unless = fmt.Sprintf("it is used all the same while fewer than %s%% are left", string(*p))
		if n, _ := p.Millionths(); n == 0 {
			unless = "where no endpoint is left, requests are answered 503 (UH)"
		}
	}
	split := isTrue(o.SplitExternalAndLocalErrors)
	add := func(n *uint32, fails func(uint32) bool, unsent bool, field string) {
		if n != nil {
			out = append(out, sim.Ejection{After: *n, For: base, Fails: fails, Unsent: unsent, Unless: unless, Field: detectors + field + ".consecutive"})
		}
	}
	add(o.Detectors.total(), func(s uint32) bool { return s >= 500 }, !split, "totalFailures")
	if spoken.HTTPLike() {
		add(o.Detectors.gateway(), func(s uint32) bool { return s >= 502 && s <= 504 }, !split, "gatewayFailures")
	}
	if split {
		add(o.Detectors.local(), func(uint32) bool { return false }, true, "localOriginFailures")
	}
	return out
}
