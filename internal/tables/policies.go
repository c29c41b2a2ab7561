package tables

import (
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/merge"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/policies/ratelimit"
	"github.com/weftmesh/weft/policies/retry"
	"github.com/weftmesh/weft/policies/timeout"
	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route"
)

// Policies are mild: they are there to stand beside all else. What they do in time
// is asked elsewhere.
func (d Dice) Policies() effective.Policies {
	var out effective.Policies
	add := func(k *policies.Kind, c policies.Conf) {
		if leaves := k.Schema.Read(c); len(leaves) > 0 {
			out = append(out, k.Resolve([]merge.Layer{{Name: merge.Route, Origin: &api.Origin{Ref: api.Ref{Kind: k.Name, Name: "p"}}, Leaves: leaves}}))
		}
	}
	if d.chance(60) {
		add(ratelimit.Kind, d.rateLimit())
	}
	if d.chance(60) {
		add(retry.Kind, &retry.Conf{HTTP: d.retries()})
	}
	if d.chance(60) {
		h := &timeout.HTTP{}
		maybe(d, &h.RequestTimeout, api.Duration(time.Minute), 0)
		maybe(d, &h.StreamIdleTimeout, api.Duration(time.Hour), 0)
		add(timeout.Kind, &timeout.Conf{HTTP: h})
	}
	return out
}

// maybe sets a field in half of all cases.
func maybe[T any](d Dice, field **T, list ...T) {
	if d.chance(50) {
		*field = ptr(pick(d, list...))
	}
}

func (d Dice) rateLimit() *ratelimit.Conf {
	h := &ratelimit.HTTP{}
	maybe(d, &h.Disabled, true, false)
	maybe(d, &h.RequestRate, ratelimit.Rate{Num: ptr[uint32](100_000), Interval: ptr(api.Duration(time.Second))})
	on := &ratelimit.OnRateLimit{Headers: &ratelimit.Headers{}}
	maybe(d, &on.Status, 429, 503)
	if d.chance(50) {
		on.Headers.Set = []route.Header{{Name: "x-limit", Value: "100%"}}
	}
	if d.chance(50) {
		on.Headers.Add = []route.Header{{Name: "x-limit", Value: "1"}}
	}
	h.OnRateLimit = on
	return &ratelimit.Conf{Local: &ratelimit.Local{HTTP: h}}
}

func (d Dice) retries() *retry.HTTP {
	h := &retry.HTTP{BackOff: &retry.BackOff{}, RateLimitedBackOff: &retry.RateLimitedBackOff{}}
	maybe[uint32](d, &h.NumRetries, 0, 1, 3)
	maybe(d, &h.PerTryTimeout, api.Duration(10*time.Second), 0)
	maybe(d, &h.BackOff.BaseInterval, api.Duration(time.Millisecond))
	maybe(d, &h.BackOff.MaxInterval, api.Duration(5*time.Millisecond))
	maybe(d, &h.RateLimitedBackOff.MaxInterval, api.Duration(time.Second))
	maybe[int64](d, &h.HostSelectionMaxAttempts, 3)
	if d.chance(50) {
		h.RateLimitedBackOff.ResetHeaders = []retry.ResetHeader{{Name: "retry-after", Format: "Seconds"}}
	}
	if d.chance(50) {
		h.RetryOn = pick(d, []string{"5xx"}, []string{"GatewayError", "503"}, []string{"HttpMethodGet", "Reset"}, []string{"409"})
	}
	if d.chance(50) {
		h.RetriableRequestHeaders = []policies.HeaderMatch{{Type: pick(d, "Exact", "Prefix", "RegularExpression"), Name: "h1", Value: "1"}}
	}
	if d.chance(50) {
		h.RetriableResponseHeaders = []policies.HeaderMatch{{Type: "Exact", Name: "x-again", Value: "1"}}
	}
	if d.chance(50) {
		h.HostSelection = []retry.HostSelection{{Predicate: "OmitPreviousHosts"}}
	}
	return h
}
