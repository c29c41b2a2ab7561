package retry

import (
	"strings"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/policies"
)

// The most of what Envoy does in a loop without a pause or makes room for at
// once: 2^31 draws of a host freeze its worker, 2^32-1 retries that avoid
// priorities end it, and connects to a closed port follow one another 10,000 times
// a second (measured on Envoy 1.40).
const (
	mostRetries  = 1000
	mostDraws    = 100
	mostConnects = 100
)

// Validate reports every mistake, not the first.
func (c *Conf) Validate(at api.Path) error {
	var f policies.Findings
	if c.TCP == nil && c.HTTP == nil && c.GRPC == nil {
		f.Breaks(at, "sets nothing; set http, grpc or tcp")
	}
	if t := c.TCP; t != nil {
		at := at.Field("tcp")
		switch {
		case t.MaxConnectAttempt == nil:
			f.Breaks(at, "sets nothing; set maxConnectAttempt")
		case *t.MaxConnectAttempt == 0:
			f.Breaks(at.Field("maxConnectAttempt"), "must be at least 1, which is the first attempt")
		case *t.MaxConnectAttempt > mostConnects:
			f.Breaks(at.Field("maxConnectAttempt"), "%d is too many: there is no pause between them; write at most %d", *t.MaxConnectAttempt, mostConnects)
		}
	}
	if c.HTTP != nil {
		c.HTTP.check(&f, at.Field("http"))
	}
	if c.GRPC != nil {
		c.GRPC.check(&f, at.Field("grpc"))
	}
	return f.Err()
}

func (h *HTTP) check(f *policies.Findings, at api.Path) {
	if len(Kind.Schema.Read(&Conf{HTTP: h})) == 0 && h.BackOff == nil && h.RateLimitedBackOff == nil {
		f.Breaks(at, "sets nothing; set numRetries, retryOn or another of its fields")
	}
	h.shared().check(f, at)
	checkRetryOn(f, at.Field("retryOn"), h.RetryOn, false)
	f.Headers(at.Field("retriableResponseHeaders"), h.RetriableResponseHeaders)
	f.Headers(at.Field("retriableRequestHeaders"), h.RetriableRequestHeaders)
	checkHosts(f, at.Field("hostSelection"), h.HostSelection)
	switch n := h.HostSelectionMaxAttempts; {
	case n == nil:
	case *n < 1:
		f.Breaks(at.Field("hostSelectionMaxAttempts"), "must be at least 1; leave it out for Envoy's single draw")
	case *n > mostDraws:
		f.Breaks(at.Field("hostSelectionMaxAttempts"), "%d is too many: Envoy does nothing else while it draws; write at most %d", *n, mostDraws)
	}
}

// Rules of what an attempt avoids; their twin is checkHosts.
func (HostSelection) Rules() []api.ValidationRule {
	return []api.ValidationRule{
		{Test: "self.predicate == 'OmitHostsWithTags' ? " + api.Given("tags") + " : !(" + api.Given("tags") + ")",
			Message: "OmitHostsWithTags, and nothing else, has the tags of the endpoints to avoid; write them there"},
		{Test: "self.predicate == 'OmitPreviousPriorities' || !has(self.updateFrequency)",
			Message: "the predicate has no frequency; remove it, or write OmitPreviousPriorities", Field: ".updateFrequency"},
	}
}

func (g *GRPC) check(f *policies.Findings, at api.Path) {
	if len(Kind.Schema.Read(&Conf{GRPC: g})) == 0 && g.BackOff == nil && g.RateLimitedBackOff == nil {
		f.Breaks(at, "sets nothing; set numRetries, retryOn or another of its fields")
	}
	g.shared().check(f, at)
	checkRetryOn(f, at.Field("retryOn"), g.RetryOn, true)
}

func (s shared) check(f *policies.Findings, at api.Path) {
	if s.retries != nil && *s.retries > mostRetries {
		f.Breaks(at.Field("numRetries"), "%d is too many: Envoy keeps a place for each; write at most %d", *s.retries, mostRetries)
	}
	f.Bound(at.Field("perTryTimeout"), s.perTry)
	if s.backOff {
		at := at.Field("backOff")
		if s.base == nil && s.max == nil {
			f.Breaks(at, "sets nothing; set baseInterval or maxInterval")
		}
		f.Positive(at.Field("baseInterval"), s.base)
		f.Positive(at.Field("maxInterval"), s.max)
		if s.base != nil && s.max != nil && 0 < *s.max && *s.max < *s.base {
			f.Warns(at.Field("maxInterval"), "NotApplied", "%s is shorter than baseInterval, so %s holds; make it at least as long", s.max, s.base)
		}
	}
	if s.rateLimited {
		at := at.Field("rateLimitedBackOff")
		longest := at.Field("maxInterval")
		at = at.Field("resetHeaders")
		if len(s.reset) == 0 {
			f.Breaks(at, "is missing; name the response headers that say when to come again")
		}
		for i, h := range s.reset {
			f.HeaderName(at.Index(i).Field("name"), h.Name)
			if _, ok := formats[h.Format]; !ok {
				f.OneOf(at.Index(i).Field("format"), h.Format, "Seconds", "UnixTimestamp")
			}
		}
		f.Positive(longest, s.rateLimitedMax)
	}
}

func checkRetryOn(f *policies.Findings, at api.Path, on []string, grpc bool) {
	if on != nil && len(on) == 0 {
		f.Warns(at, "NotApplied", "an empty list means the default's words; write numRetries: 0 to switch retries off")
	}
	for i, item := range on {
		c := parse([]string{item}, nil)
		sound := len(c.unknown) == 0 && !grpc && !c.has(allowed(true)...) || grpc && c.has(allowed(true)...)
		switch {
		case sound:
		case strings.Trim(item, "0123456789") == "" && item != "" && !grpc:
			f.Breaks(at.Index(i), "%s is not a registered HTTP status; write one such as \"503\"", redact.Clip(item))
		default:
			f.OneOf(at.Index(i), item, allowed(grpc)...)
		}
	}
}

func checkHosts(f *policies.Findings, at api.Path, hosts []HostSelection) {
	priorities := false
	for i, h := range hosts {
		at := at.Index(i)
		switch h.Predicate {
		case omitHosts:
		case omitTags:
			if len(h.Tags) == 0 {
				f.Breaks(at.Field("tags"), "is missing; %s needs the tags of the endpoints to avoid", omitTags)
			}
		case omitPriorities:
			if priorities {
				f.Breaks(at, "%s stands in the list already; name it once", omitPriorities)
			}
			priorities = true
			if n := h.UpdateFrequency; n != nil && *n < 1 {
				f.Breaks(at.Field("updateFrequency"), "must be at least 1; leave it out for 2")
			}
		default:
			f.OneOf(at.Field("predicate"), h.Predicate, omitHosts, omitTags, omitPriorities)
			continue
		}
		if h.Tags != nil && h.Predicate != omitTags {
			f.Breaks(at.Field("tags"), "%s reads no tags; remove them, or write %s", h.Predicate, omitTags)
		}
		if h.UpdateFrequency != nil && h.Predicate != omitPriorities {
			f.Breaks(at.Field("updateFrequency"), "%s has no frequency; remove it, or write %s", h.Predicate, omitPriorities)
		}
	}
}
