package differential

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	tcplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/sim"
)

// field is one field of a policy: where it stands in Envoy, in the text that the
// value of explain has there, and what stands there without it.
type field struct {
	kind, name string
	ofRoute    bool
	there      func(envoyPlace) string
	without    string
	// as is the value of explain as it stands there, where that is not its text.
	as func(v sim.Policy, value any) string
}

func duration(d *durationpb.Duration, without string) string {
	if d == nil {
		return without
	}
	return d.AsDuration().String()
}

const unset = "nothing"

// fields are those of all kinds that explain can say.
var fields = slices.Concat(timeoutFields, limitFields, retryFields("http"), retryFields("grpc"), hostFields)

// hostFields are those that only the http block has.
var hostFields = []field{
	{kind: "MeshRetry", name: "http.hostSelection", ofRoute: true, there: func(p envoyPlace) string {
		r := p.route.GetRoute().GetRetryPolicy()
		n := len(r.GetRetryHostPredicate())
		if r.GetRetryPriority() != nil {
			n++
		}
		return fmt.Sprint(n)
	}, without: "0", as: length},
	{kind: "MeshRetry", name: "http.hostSelectionMaxAttempts", ofRoute: true, there: func(p envoyPlace) string {
		return fmt.Sprint(p.route.GetRoute().GetRetryPolicy().GetHostSelectionRetryMaxAttempts())
	}, without: "0"},
	{kind: "MeshRetry", name: "http.retriableResponseHeaders", ofRoute: true, there: func(p envoyPlace) string {
		return fmt.Sprint(len(p.route.GetRoute().GetRetryPolicy().GetRetriableHeaders()))
	}, without: "0", as: length},
	{kind: "MeshRetry", name: "http.retriableRequestHeaders", ofRoute: true, there: func(p envoyPlace) string {
		n := 0
		for _, h := range p.route.GetRoute().GetRetryPolicy().GetRetriableRequestHeaders() {
			if h.Name != ":method" { // a word of retryOn
				n++
			}
		}
		return fmt.Sprint(n)
	}, without: "0", as: length},
}

// length is that of a list.
func length(_ sim.Policy, value any) string {
	var list []any
	if err := json.Unmarshal([]byte(plain(value)), &list); err != nil {
		return err.Error()
	}
	return fmt.Sprint(len(list))
}

var timeoutFields = []field{
	{kind: "MeshTimeout", name: "http.requestTimeout", ofRoute: true, there: func(p envoyPlace) string { return duration(p.route.GetRoute().GetTimeout(), "0s") }, without: "0s"},
	{kind: "MeshTimeout", name: "http.streamIdleTimeout", ofRoute: true, there: func(p envoyPlace) string { return duration(p.route.GetRoute().GetIdleTimeout(), unset) }, without: unset},
	{kind: "MeshTimeout", name: "connectionTimeout", ofRoute: false, there: func(p envoyPlace) string { return duration(p.cluster.ConnectTimeout, unset) }, without: "5s"},
	{kind: "MeshTimeout", name: "idleTimeout", ofRoute: false, there: func(p envoyPlace) string {
		if p.options == nil {
			return duration(p.bytes.GetIdleTimeout(), unset)
		}
		return duration(p.options.GetCommonHttpProtocolOptions().GetIdleTimeout(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.maxStreamDuration", ofRoute: false, there: func(p envoyPlace) string {
		return duration(p.options.GetCommonHttpProtocolOptions().GetMaxStreamDuration(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.maxConnectionDuration", ofRoute: false, there: func(p envoyPlace) string {
		return duration(p.options.GetCommonHttpProtocolOptions().GetMaxConnectionDuration(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.requestHeadersTimeout", ofRoute: false, there: func(p envoyPlace) string { return duration(p.manager.GetRequestHeadersTimeout(), unset) }, without: unset},
}

var limitFields = []field{
	{kind: "MeshRateLimit", name: "local.http.requestRate", ofRoute: true, there: func(p envoyPlace) string {
		_, b := p.bucket()
		return rate(b)
	}, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.status", ofRoute: true, there: func(p envoyPlace) string {
		if l, _ := p.bucket(); l.GetStatus() != nil {
			return fmt.Sprint(int(l.GetStatus().GetCode()))
		}
		return unset
	}, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.headers.set", ofRoute: true, there: func(p envoyPlace) string { return p.limitHeaders("OVERWRITE_IF_EXISTS_OR_ADD") }, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.headers.add", ofRoute: true, there: func(p envoyPlace) string { return p.limitHeaders("APPEND_IF_EXISTS_OR_ADD") }, without: unset},
	{kind: "MeshRateLimit", name: "local.tcp.connectionRate", ofRoute: false, there: func(p envoyPlace) string {
		for _, f := range p.listener.FilterChains[0].Filters {
			l := &tcplimitv3.LocalRateLimit{}
			if f.GetTypedConfig().UnmarshalTo(l) == nil {
				return rate(l.TokenBucket)
			}
		}
		return unset
	}, without: unset},
}

func rate(b *typev3.TokenBucket) string {
	if b == nil {
		return unset
	}
	return fmt.Sprintf(`{"num":%d,"interval":%q}`, b.MaxTokens, b.FillInterval.AsDuration())
}

// limitHeaders are those of an answer over the limit, as a document writes them.
func (p envoyPlace) limitHeaders(action string) string {
	l, _ := p.bucket()
	for _, h := range l.GetResponseHeadersToAdd() {
		if h.AppendAction.String() == action { // the draws have one of each
			return fmt.Sprintf(`[{"name":%q,"value":%q}]`, h.Header.Key, strings.ReplaceAll(h.Header.Value, "%%", "%"))
		}
	}
	return unset
}

// bucket is the filter's configuration for a route, and the bucket from which its
// requests take their tokens.
func (p envoyPlace) bucket() (*httplimitv3.LocalRateLimit, *typev3.TokenBucket) {
	const filter = "envoy.filters.http.local_ratelimit"
	l := &httplimitv3.LocalRateLimit{}
	if a := p.route.GetTypedPerFilterConfig()[filter]; a != nil && a.UnmarshalTo(l) == nil {
		return l, l.TokenBucket
	}
	item := p.route.GetMetadata().GetFilterMetadata()["weft.limit"].GetFields()["item"].GetStringValue()
	a := p.host.GetTypedPerFilterConfig()[filter]
	if item == "" || a == nil || a.UnmarshalTo(l) != nil || l.TokenBucket.GetMaxTokens() != math.MaxUint32 {
		return nil, nil
	}
	for _, d := range l.Descriptors {
		if d.Entries[0].Value == item {
			return l, d.TokenBucket
		}
	}
	return nil, nil
}

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
			for _, h := range policy(p).GetRateLimitedRetryBackOff().GetResetHeaders() {
				format := map[string]string{"SECONDS": "Seconds", "UNIX_TIMESTAMP": "UnixTimestamp"}[h.Format.String()]
				return fmt.Sprintf(`[{"name":%q,"format":%q}]`, h.Name, format)
			}
			return unset
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
	"5xx": "5xx", "GatewayError": "gateway-error", "Reset": "reset", "Retriable4xx": "retriable-4xx", "ConnectFailure": "connect-failure",
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

// repeated is what a policy of Envoy repeats, as conditions has it.
func repeated(r *routev3.RetryPolicy) string {
	var out []string
	for word := range strings.SplitSeq(r.RetryOn, ",") {
		if word != "retriable-status-codes" && word != "retriable-headers" {
			out = append(out, word)
		}
	}
	for _, code := range r.RetriableStatusCodes {
		out = append(out, fmt.Sprint(code))
	}
	for _, h := range r.RetriableRequestHeaders {
		if h.Name == ":method" {
			out = append(out, h.GetStringMatch().GetExact())
		}
	}
	return strings.Join(compact(out), " ")
}
