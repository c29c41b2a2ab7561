package differential

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/sim"
)

// retryFields are those of one block of MeshRetry. Envoy has one policy for a route,
// which the block of its protocol gives.
func retryFields(block string) []field {
	policy := func(p envoyPlace) *routev3.RetryPolicy {
		grpc := strings.Contains(fmt.Sprint(p.manager.GetHttpFilters()), "grpc_stats")
		if grpc != (block == "grpc") {
			return nil
		}
		return p.route.GetRoute().GetRetryPolicy()
	}
	return []field{
		{kind: "MeshRetry", name: block + ".numRetries", ofRoute: true, there: func(p envoyPlace) string {
			if r := policy(p); r != nil {
				return fmt.Sprint(r.NumRetries.GetValue())
			}
			return unset
		}, without: unset},
		{kind: "MeshRetry", name: block + ".perTryTimeout", ofRoute: true, there: func(p envoyPlace) string { return duration(policy(p).GetPerTryTimeout(), unset) }, without: unset},
		{kind: "MeshRetry", name: block + ".backOff.baseInterval", ofRoute: true, there: func(p envoyPlace) string {
			return duration(policy(p).GetRetryBackOff().GetBaseInterval(), unset)
		}, without: unset},
		{kind: "MeshRetry", name: block + ".backOff.maxInterval", ofRoute: true, there: func(p envoyPlace) string {
			return duration(policy(p).GetRetryBackOff().GetMaxInterval(), unset)
		}, without: unset, as: func(v sim.Policy, value any) string { return longest(v, block, value) }},
		{kind: "MeshRetry", name: block + ".retryOn", ofRoute: true, there: func(p envoyPlace) string {
			if r := policy(p); r != nil {
				return repeated(r)
			}
			return unset
		}, without: unset, as: func(_ sim.Policy, value any) string { return conditions(block, value) }},
		{kind: "MeshRetry", name: block + ".rateLimitedBackOff.maxInterval", ofRoute: true, there: func(p envoyPlace) string {
			return duration(policy(p).GetRateLimitedRetryBackOff().GetMaxInterval(), unset)
		}, without: unset},
		{kind: "MeshRetry", name: block + ".rateLimitedBackOff.resetHeaders", ofRoute: true, there: func(p envoyPlace) string {
			var out []string
			for _, h := range policy(p).GetRateLimitedRetryBackOff().GetResetHeaders() {
				format := map[string]string{"SECONDS": "Seconds", "UNIX_TIMESTAMP": "UnixTimestamp"}[h.Format.String()]
				out = append(out, fmt.Sprintf(`{"name":%q,"format":%q}`, h.Name, format))
			}
			if out == nil {
				return unset
			}
			return "[" + strings.Join(out, ",") + "]"
		}, without: unset},
	}
}

// longest is a longest pause, which is never shorter than the first.
func longest(v sim.Policy, block string, value any) string {
	parse := func(v any) time.Duration {
		d, err := time.ParseDuration(strings.Trim(plain(v), `"`))
		if err != nil {
			return 25 * time.Millisecond // Envoy's own
		}
		return d
	}
	return max(parse(value), parse(last(v, block+".backOff.baseInterval"))).String()
}

// envoyWords are the words of Envoy's documentation for those of MeshRetry.
var envoyWords = map[string]string{
	"5xx": "5xx", "GatewayError": "gateway-error", "Reset": "reset", "ResetBeforeRequest": "reset-before-request", "Retriable4xx": "retriable-4xx", "ConnectFailure": "connect-failure",
	"EnvoyRatelimited": "envoy-ratelimited", "RefusedStream": "refused-stream", "Http3PostConnectFailure": "http3-post-connect-failure",
	"Canceled": "cancelled", "DeadlineExceeded": "deadline-exceeded", "Internal": "internal", "ResourceExhausted": "resource-exhausted", "Unavailable": "unavailable",
}

// conditions are what a retryOn list wants repeated, in Envoy's words, sorted. A
// list without words leaves those of the default.
func conditions(block string, value any) string {
	var list, out []string
	if err := json.Unmarshal([]byte(plain(value)), &list); err != nil {
		return err.Error()
	}
	words := false
	for _, w := range list {
		if word, ok := envoyWords[w]; ok {
			w, words = word, true
		} else if method, ok := strings.CutPrefix(w, "HttpMethod"); ok {
			w = strings.ToUpper(method)
		}
		out = append(out, w)
	}
	if !words {
		out = append(out, map[string][]string{
			"http": {"gateway-error", "connect-failure", "refused-stream"},
			"grpc": {"cancelled", "connect-failure", "gateway-error", "refused-stream", "reset", "resource-exhausted", "unavailable"},
		}[block]...)
	}
	return strings.Join(compact(out), " ")
}

// The words by which Envoy looks at statuses and headers of answers.
const statusWord, headerWord = "retriable-status-codes", "retriable-headers"

// repeated is what a policy of Envoy repeats, as conditions has it.
func repeated(r *routev3.RetryPolicy) string {
	var out []string
	words := strings.Split(r.RetryOn, ",")
	for _, word := range words {
		if word != statusWord && word != headerWord {
			out = append(out, word)
		}
	}
	for _, code := range r.RetriableStatusCodes {
		if slices.Contains(words, statusWord) { // without it Envoy does not look at them
			out = append(out, fmt.Sprint(code))
		}
	}
	for _, h := range r.RetriableRequestHeaders {
		if h.Name == ":method" {
			out = append(out, h.GetStringMatch().GetExact())
		}
	}
	return strings.Join(compact(out), " ")
}
