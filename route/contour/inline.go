package contour

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
)

// inline is what the route says in the terms of policies. It says nothing where it
// answers by itself.
func (m *routeMaker) inline(origin *api.Origin) []route.Inline {
	if len(m.spec.Services) == 0 {
		return nil
	}
	var out []route.Inline
	add := func(p route.InlinePolicy, at api.Path) {
		if len(p.Fields()) > 0 {
			field := *origin
			field.Field = at
			out = append(out, route.Inline{Policy: p, Origin: &field})
		}
	}
	if p, at := m.spec.TimeoutPolicy, m.at.Field("timeoutPolicy"); p != nil {
		add(timeouts(m.report, p, at), at)
	}
	if p, at := m.spec.RetryPolicy, m.at.Field("retryPolicy"); p != nil {
		add(retries(m.report, p, at), at)
	}
	if p, at := m.spec.RateLimitPolicy, m.at.Field("rateLimitPolicy"); p != nil {
		add(limit(m.report, p, at, routeError), at)
	}
	return out
}

// duration reads a bound in time: nil where it is not set, 0 where it is none.
func duration(r *report, reason string, at api.Path, text string) *api.Duration {
	var d api.Duration
	switch text {
	case "":
		return nil
	case "infinity", "infinite":
		return &d
	}
	t, err := time.ParseDuration(text)
	if err != nil || t < 0 {
		r.fails(routeError, reason, at, "%q is no duration; write one such as 15s, or infinity", redact.Clip(text))
		return nil
	}
	if t == 0 {
		return nil
	}
	d = api.Duration(t)
	return &d
}

func timeouts(r *report, p *TimeoutPolicy, at api.Path) *route.Timeouts {
	return &route.Timeouts{
		Request:    duration(r, badTimeout, at.Field("response"), p.Response),
		StreamIdle: duration(r, badTimeout, at.Field("idle"), p.Idle),
		Idle:       duration(r, badTimeout, at.Field("idleConnection"), p.IdleConnection),
	}
}

// retryWords are the conditions of retries as policies have them. A host speaks HTTP, of
// which gRPC is a part: their words stand in one list.
var retryWords = map[string]string{
	"5xx": "5xx", "gateway-error": "GatewayError", "reset": "Reset", "connect-failure": "ConnectFailure", "envoy-ratelimited": "EnvoyRatelimited",
	"retriable-4xx": "Retriable4xx", "refused-stream": "RefusedStream", "http3-post-connect-failure": "Http3PostConnectFailure",
	byStatus: "RetriableStatusCodes", "retriable-headers": "RetriableHeaders", "reset-before-request": "ResetBeforeRequest", "cancelled": "Canceled", "deadline-exceeded": "DeadlineExceeded", "internal": "Internal", "resource-exhausted": "ResourceExhausted", "unavailable": "Unavailable",
}

const byStatus = "retriable-status-codes"

func retries(r *report, p *RetryPolicy, at api.Path) *route.Retry {
	count := uint32(1)
	switch {
	case p.Count == nil || *p.Count == 0:
	case *p.Count == -1:
		count = 0
	case *p.Count < -1 || *p.Count > 1000:
		r.fails(routeError, "RetryPolicyNotValid", at.Field("count"), "%d is no number of retries; write one from 1 to 1000, or -1 for none", *p.Count)
	default:
		count = uint32(*p.Count)
	}
	on := p.RetryOn
	if len(on) == 0 {
		on = []string{"5xx"}
	}
	var words []string
	for i, w := range on {
		here := at.Field("retryOn").Index(i)
		if word, ok := retryWords[w]; ok {
			words = append(words, word)
		} else {
			r.fails(routeError, "RetryPolicyNotValid", here, "%q is no condition; write one such as 5xx, gateway-error, reset, connect-failure", redact.Clip(w))
		}
	}
	words = append(words, statuses(r, p, at)...)
	if len(words) == 0 {
		count = 0 // what is repeated otherwise is not what the route asked for
	}
	out := &route.Retry{Number: &count, PerTry: duration(r, "RetryPolicyNotValid", at.Field("perTryTimeout"), p.PerTryTimeout)}
	if count > 0 {
		out.On = words
	}
	return out
}

// statuses are those that are repeated, as policies name them.
func statuses(r *report, p *RetryPolicy, at api.Path) []string {
	if len(p.RetriableStatusCodes) == 0 {
		return nil
	}
	at = at.Field("retriableStatusCodes")
	if !slices.Contains(p.RetryOn, byStatus) {
		r.warns(specError, ignored, at, "has no effect without %s in retryOn; add it there", byStatus)
		return nil
	}
	var out []string
	for i, s := range p.RetriableStatusCodes {
		if http.StatusText(int(s)) == "" {
			r.fails(routeError, "RetryPolicyNotValid", at.Index(i), "%d is no status that has a name; write one such as 503", s)
			continue
		}
		out = append(out, strconv.FormatUint(uint64(s), 10))
	}
	return out
}

// limitStatus reports whether Envoy can answer a limit with a status.
func limitStatus(s uint32) bool {
	return s >= 400 && s < 600 && http.StatusText(int(s)) != "" && !slices.Contains([]uint32{418, 425, 451}, s)
}

// units are those in which a limit is counted.
var units = map[string]api.Duration{"second": api.Duration(time.Second), "minute": api.Duration(time.Minute), "hour": api.Duration(time.Hour)}

// hostLimit is what a root says for its host as a whole.
func hostLimit(r *report) []route.Inline {
	at := api.Path("spec.virtualhost.rateLimitPolicy")
	p := r.of.Spec.(*HTTPProxy).VirtualHost.RateLimitPolicy
	if p == nil {
		return nil
	}
	says := limit(r, p, at, virtualHostError)
	if says.Rate == nil {
		return nil
	}
	return []route.Inline{{Policy: says, Origin: &api.Origin{Ref: r.of.Ref, Field: at}}}
}

// limit is the local limit of a policy; without a rate it has none.
func limit(r *report, p *RateLimitPolicy, at api.Path, kind string) *route.RateLimit {
	without(r, at, given{"global", p.Global != nil})
	p.Global.check(r, at.Field("global"), kind)
	l := p.Local
	if l == nil {
		return &route.RateLimit{}
	}
	at = at.Field("local")
	wrong := func(field, format string, args ...any) { r.fails(kind, badRate, at.Field(field), format, args...) }
	interval, known := units[l.Unit]
	if l.Requests == 0 {
		wrong("requests", "it admits nothing; write 1 or more")
	}
	if !known {
		wrong("unit", "%q is no unit; write second, minute or hour", redact.Clip(l.Unit))
	}
	out := &route.RateLimit{Rate: &route.Rate{Requests: l.Requests, Interval: interval, Burst: l.Burst}}
	if s := l.ResponseStatusCode; s != 0 {
		if !limitStatus(s) {
			wrong("responseStatusCode", "%d is no status that Envoy answers a limit with; write one from 400 to 599 that has a name", s)
		}
		out.Status = &l.ResponseStatusCode
	}
	out.Set = answerHeaders(l, wrong)
	return out
}

// answerHeaders are those of the answer over the limit.
func answerHeaders(l *LocalRateLimit, wrong func(field, format string, args ...any)) []route.Header {
	var set []route.Header
	for _, h := range l.ResponseHeadersToAdd {
		x := route.Header{Name: strings.ToLower(h.Name), Value: h.Value}
		err := route.CheckChangedHeader("", route.SetInAnswer, x)
		if err == nil {
			err = match.CheckHeaderValue("", x.Value)
		}
		switch {
		case err != nil:
			wrong("responseHeadersToAdd", "%s", err)
		case slices.ContainsFunc(set, func(o route.Header) bool { return o.Name == x.Name }):
			wrong("responseHeadersToAdd", "%s stands there twice; name it once", x.Name)
		}
		set = append(set, x)
	}
	return set
}
