package ratelimit

import (
	"time"

	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

// Envoy's limits.
const (
	shortestFill = 50 * time.Millisecond
	maxHeaders   = 10 // set and added together
	maxValue     = 16384
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	at = at.Field("local")
	if c.Local == nil || c.Local.HTTP == nil && c.Local.TCP == nil {
		f.Breaks(at, "sets nothing; set http or tcp")
		return f.Err()
	}
	if h := c.Local.HTTP; h != nil {
		at := at.Field("http")
		if h.Disabled == nil && h.RequestRate == nil && h.OnRateLimit == nil {
			f.Breaks(at, "sets nothing; set requestRate, onRateLimit or disabled")
		}
		h.RequestRate.check(&f, at.Field("requestRate"))
		h.OnRateLimit.check(&f, at.Field("onRateLimit"))
	}
	if t := c.Local.TCP; t != nil {
		at := at.Field("tcp")
		if t.Disabled == nil && t.ConnectionRate == nil {
			f.Breaks(at, "sets nothing; set connectionRate or disabled")
		}
		t.ConnectionRate.check(&f, at.Field("connectionRate"))
	}
	return f.Err()
}

// Rules of a block for requests; their twin is Conf.Validate.
func (HTTP) Rules() []api.ValidationRule {
	return []api.ValidationRule{{Test: "has(self.disabled) || has(self.requestRate) || has(self.onRateLimit)", Message: "sets nothing; set requestRate, onRateLimit or disabled"}}
}

// Rules of the headers of an answer; their twin is OnRateLimit.check.
func (Headers) Rules() []api.ValidationRule {
	return []api.ValidationRule{{
		Test:    "(has(self.set) ? size(self.set) : 0) + (has(self.add) ? size(self.add) : 0) <= 10",
		Message: "has too many headers in set and add together; Envoy puts at most 10 into an answer, so name fewer",
	}}
}

func (r *Rate) check(f *policies.Findings, at api.Path) {
	if r == nil {
		return
	}
	switch num := at.Field("num"); {
	case r.Num == nil:
		f.Breaks(num, "is missing; a rate is merged as a whole and needs both num and interval")
	case *r.Num == 0:
		f.Breaks(num, "must be at least 1; to admit everything write disabled: true")
	}
	switch interval := at.Field("interval"); {
	case r.Interval == nil:
		f.Breaks(interval, "is missing; a rate is merged as a whole and needs both num and interval")
	case time.Duration(*r.Interval) > policies.Longest:
		f.Positive(interval, r.Interval)
	case time.Duration(*r.Interval) <= shortestFill:
		f.Breaks(interval, "%s is too short; Envoy fills buckets no faster than every 50ms, so write more than that", r.Interval)
	}
}

func (o *OnRateLimit) check(f *policies.Findings, at api.Path) {
	if o == nil {
		return
	}
	if o.Status == nil && o.Headers == nil {
		f.Breaks(at, "sets nothing; set status or headers")
	}
	if o.Status != nil {
		checkStatus(f, at.Field("status"), *o.Status)
	}
	if o.Headers != nil {
		at := at.Field("headers")
		if o.Headers.Set == nil && o.Headers.Add == nil {
			f.Breaks(at, "sets nothing; write set or add")
		}
		if n := len(o.Headers.Set) + len(o.Headers.Add); n > maxHeaders {
			f.Breaks(at, "has %d headers in set and add together; Envoy puts at most %d into an answer, so name fewer", n, maxHeaders)
		}
		seen := map[string]api.Path{}
		checkHeaders(f, at.Field("set"), route.SetInAnswer, o.Headers.Set, seen)
		checkHeaders(f, at.Field("add"), route.AddToAnswer, o.Headers.Add, seen)
	}
}

func checkStatus(f *policies.Findings, at api.Path, status uint32) {
	switch _, known := typev3.StatusCode_name[int32(status)]; {
	case status == 0 || !known:
		f.Breaks(at, "%d is not a status that Envoy can send; use one such as 429 or 503", status)
	case status < 400:
		f.Warns(at, "NotApplied", "Envoy answers 429 in place of %d, which is not an error; use 400 or more", status)
	}
}

func checkHeaders(f *policies.Findings, at api.Path, change route.HeaderChange, headers []route.Header, seen map[string]api.Path) {
	for i, h := range headers {
		at := at.Index(i)
		name := at.Field("name")
		if f.HeaderName(name, h.Name) {
			f.Include(route.CheckChangedHeader(name, change, h))
			if first, twice := seen[h.Name]; twice {
				f.Breaks(name, "%s stands at %s already; name each header once", h.Name, first)
			} else {
				seen[h.Name] = name
			}
		}
		f.Include(match.CheckHeaderValue(at.Field("value"), h.Value))
		if n := len(envoy.Escape(h.Value)); n > maxValue && len(h.Value) <= maxValue {
			f.Breaks(at.Field("value"), "has %d bytes when its percent signs are doubled for Envoy; at most %d are possible", n, maxValue)
		}
	}
}
