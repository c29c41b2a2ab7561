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
	fields := route.FieldsOf(list)
	whole, _ := fields[timeoutKind]["http.requestTimeout"].(*api.Duration)
	idle, _ := fields[timeoutKind]["http.streamIdleTimeout"].(*api.Duration)
	connection, _ := fields[timeoutKind]["idleTimeout"].(*api.Duration)
	if whole != nil || idle != nil || connection != nil {
		out.TimeoutPolicy = &TimeoutPolicy{Response: durationText(whole), Idle: durationText(idle), IdleConnection: durationText(connection)}
	}
	out.RetryPolicy = retryOf(fields[retryKind])
	out.RateLimitPolicy = limitOf(fields[rateLimitKind])
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
func retryOf(fields map[string]any) *RetryPolicy {
	number, ok := fields["http.numRetries"].(*uint32)
	on, said := fields["http.retryOn"].([]string)
	if !ok || *number > 0 && !said {
		return nil
	}
	out := &RetryPolicy{Count: new(int64(*number))}
	if *number == 0 {
		out.Count = new(int64(-1))
	}
	for _, word := range on {
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
	if try, ok := fields["http.perTryTimeout"].(*api.Duration); ok {
		out.PerTryTimeout = durationText(try)
	}
	return out
}

// limitOf is what a route says of limits; nil where it has no words for it.
func limitOf(fields map[string]any) *RateLimitPolicy {
	rate, _ := fields["local.http.requestRate"].(map[string]any)
	number, ok := rate["num"].(*uint32)
	interval, timed := rate["interval"].(*api.Duration)
	if !ok || !timed {
		return nil
	}
	out := &LocalRateLimit{Requests: *number}
	for unit, length := range units {
		if length == *interval {
			out.Unit = unit
		}
	}
	if out.Unit == "" {
		return nil
	}
	if burst, ok := rate["burst"].(*uint32); ok {
		out.Burst = *burst
	}
	if status, ok := fields["local.http.onRateLimit.status"].(*uint32); ok {
		out.ResponseStatusCode = *status
	}
	set, _ := fields["local.http.onRateLimit.headers.set"].([]route.Header)
	for _, h := range set {
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
