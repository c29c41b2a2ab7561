package contour

import (
	"slices"
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/route"
)

// printInline writes the timeouts, retries and limits that a route can say so that they
// mean what they are; the others are left to policies.
func printInline(out *Route, list []route.Inline) {
	said := route.InlineOf(list)
	if t := said.Timeouts; t != (route.Timeouts{}) {
		out.TimeoutPolicy = &TimeoutPolicy{Response: durationText(t.Request), Idle: durationText(t.StreamIdle), IdleConnection: durationText(t.Idle)}
	}
	out.RetryPolicy = retryOf(&said.Retry)
	out.RateLimitPolicy = limitOf(&said.RateLimit)
}

func durationText(d *api.Duration) string {
	switch {
	case d == nil:
		return ""
	case *d == 0:
		return "infinity"
	}
	return d.String()
}

// retryOf is what a route says of repeating; nil where it has no words for it.
func retryOf(says *route.Retry) *RetryPolicy {
	if says.Number == nil || *says.Number > 0 && says.On == nil {
		return nil
	}
	out := &RetryPolicy{Count: new(int64(*says.Number))}
	if *says.Number == 0 {
		out.Count = new(int64(-1))
	}
	for _, word := range says.On {
		at := ""
		for w, means := range retryWords {
			if means == word {
				at = w
			}
		}
		if at == "" {
			return nil
		}
		out.RetryOn = append(out.RetryOn, at)
	}
	out.PerTryTimeout = durationText(says.PerTry)
	return out
}

// limitOf is what a route says of limits; nil where it has no words for it.
func limitOf(says *route.RateLimit) *RateLimitPolicy {
	if says.Rate == nil {
		return nil
	}
	out := &LocalRateLimit{Requests: says.Rate.Requests, Burst: says.Rate.Burst}
	for unit, length := range units {
		if length == says.Rate.Interval {
			out.Unit = unit
		}
	}
	if out.Unit == "" {
		return nil
	}
	if says.Status != nil {
		out.ResponseStatusCode = *says.Status
	}
	for _, h := range says.Set {
		out.ResponseHeadersToAdd = append(out.ResponseHeadersToAdd, HeaderValue(h))
	}
	return &RateLimitPolicy{Local: out}
}

// strategies are what a route calls the ways to choose endpoints.
var strategies = map[route.Algorithm]string{route.Random: "Random", route.LeastRequest: "WeightedLeastRequest", route.RingHash: "RequestHash"}

// balanceOf is how endpoints are chosen, where the route has words for it.
func balanceOf(do *route.Forward) *LoadBalancerPolicy {
	first := do.Backends[0].Balance
	word := strategies[first.Algorithm]
	if word == "" || first.Bound > 0 || slices.ContainsFunc(do.Backends, func(b route.BackendRef) bool {
		return b.Balance.Algorithm != first.Algorithm || b.Balance.Bound != first.Bound
	}) {
		return nil
	}
	out := &LoadBalancerPolicy{Strategy: word}
	if first.Algorithm != route.RingHash {
		return out
	}
	if len(do.Hash) == 1 && do.Hash[0] == (route.HashKey{Cookie: affinityCookie, Session: true}) {
		out.Strategy = "Cookie"
		return out
	}
	for _, k := range do.Hash {
		policy := RequestHashPolicy{Terminal: k.Last, HashSourceIP: k.Source}
		switch {
		case k.Header != "":
			policy.HeaderHashOptions = &HeaderHashOptions{k.Header}
		case k.Query != "" && strings.ToLower(k.Query) == k.Query:
			policy.QueryParameterOptions = &QueryParameterOptions{k.Query}
		case !k.Source:
			return nil
		}
		out.RequestHashPolicies = append(out.RequestHashPolicies, policy)
	}
	return out
}
