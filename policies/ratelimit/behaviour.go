package ratelimit

import (
	"fmt"
	"math"
	"time"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/sim/buckets"
)

// Bucket is the bucket of requests; ok is false where nothing is limited.
func (c *Conf) Bucket() (b buckets.Bucket, ok bool) {
	h := c.http()
	if h == nil {
		return b, false
	}
	b = buckets.Bucket{Tokens: *h.RequestRate.Num, Interval: time.Duration(*h.RequestRate.Interval), Status: tooManyRequests, Burst: h.RequestRate.burst()}
	// Envoy does not let a limit answer with what is no error.
	if on := h.OnRateLimit; on != nil && on.Status != nil && *on.Status >= 400 {
		b.Status = *on.Status
	}
	set, add := h.headers()
	b.Set, b.Add = simHeaders(set), simHeaders(add)
	return b, true
}

// burst is how many tokens more than Num the bucket holds, as many as Envoy counts.
func (r *Rate) burst() uint32 {
	if r.Burst == nil {
		return 0
	}
	return min(*r.Burst, math.MaxUint32-*r.Num)
}

// RateField is the field whose author owns the bucket.
func (c *Conf) RateField() string { return "local.http.requestRate" }

// http is the block where it limits requests, else nil.
func (c *Conf) http() *HTTP {
	if c.Local == nil || c.Local.HTTP == nil || c.Local.HTTP.RequestRate == nil || isTrue(c.Local.HTTP.Disabled) {
		return nil
	}
	return c.Local.HTTP
}

// headers are those of an answer over the limit, as many as Envoy takes.
func (h *HTTP) headers() (set, add []route.Header) {
	if h.OnRateLimit == nil || h.OnRateLimit.Headers == nil {
		return nil, nil
	}
	set, add = h.OnRateLimit.Headers.Set, h.OnRateLimit.Headers.Add
	set = set[:min(len(set), maxHeaders)]
	return set, add[:min(len(add), maxHeaders-len(set))]
}

// Adjustments are what merging can bring together although Envoy refuses it
// (spec/xds.md 6).
func (c *Conf) Adjustments() []policies.Adjustment {
	h := c.http()
	if h == nil || h.OnRateLimit == nil || h.OnRateLimit.Headers == nil {
		return nil
	}
	n := len(h.OnRateLimit.Headers.Set) + len(h.OnRateLimit.Headers.Add)
	if n <= maxHeaders {
		return nil
	}
	const headers = "local.http.onRateLimit.headers."
	return []policies.Adjustment{{
		Field: headers + "add", Against: headers + "set",
		Message: fmt.Sprintf("set and add have %d headers together, and Envoy puts at most %d into an answer: the last of add are left out; name fewer", n, maxHeaders),
	}}
}

func simHeaders(headers []route.Header) []buckets.Header {
	var out []buckets.Header
	for _, h := range headers {
		out = append(out, buckets.Header{Name: h.Name, Value: h.Value})
	}
	return out
}

func isTrue(b *bool) bool { return b != nil && *b }
