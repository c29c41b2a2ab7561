package retry

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"

	"github.com/weftmesh/weft/api"
)

// The predicates of HostSelection.
const (
	omitHosts      = "OmitPreviousHosts"
	omitTags       = "OmitHostsWithTags"
	omitPriorities = "OmitPreviousPriorities"
)

// formats are those of ResetHeader.
var formats = map[string]routev3.RetryPolicy_ResetHeaderFormat{
	"Seconds":       routev3.RetryPolicy_SECONDS,
	"UnixTimestamp": routev3.RetryPolicy_UNIX_TIMESTAMP,
}

// shared is what the http and the grpc block have in common.
type shared struct {
	retries              *uint32
	perTry               *api.Duration
	backOff, rateLimited bool // the blocks are there, maybe empty
	base, max            *api.Duration
	reset                []ResetHeader
	rateLimitedMax       *api.Duration
	conditions           conditions
}

func (h *HTTP) shared() shared {
	s := shared{retries: h.NumRetries, perTry: h.PerTryTimeout, conditions: conditionsOf(h.RetryOn, defaultHTTP, usualHTTP)}
	return s.withBackOff(h.BackOff, h.RateLimitedBackOff)
}

// shared of gRPC: its types differ from those of http in their tags alone.
func (g *GRPC) shared() shared {
	s := shared{retries: g.NumRetries, perTry: g.PerTryTimeout, conditions: conditionsOf(g.RetryOn, defaultGRPC, usualGRPC)}
	return s.withBackOff((*BackOff)(g.BackOff), (*RateLimitedBackOff)(g.RateLimitedBackOff))
}

func (s shared) withBackOff(b *BackOff, limited *RateLimitedBackOff) shared {
	if b != nil {
		s.backOff, s.base, s.max = true, b.BaseInterval, b.MaxInterval
	}
	if limited != nil {
		s.rateLimited, s.reset, s.rateLimitedMax = true, limited.ResetHeaders, limited.MaxInterval
	}
	return s
}

// block is the block of the conf that applies to a protocol, and the headers and
// hosts that only http has; ok is false where there is none.
func (c *Conf) block(p api.Protocol) (s shared, http *HTTP, ok bool) {
	switch {
	case p == api.GRPC && c.GRPC != nil:
		return c.GRPC.shared(), nil, true
	case (p == api.HTTP || p == api.HTTP2) && c.HTTP != nil:
		return c.HTTP.shared(), c.HTTP, true
	}
	return shared{}, nil, false
}

// count is how often a request is repeated; Envoy's default is once.
func (s shared) count() uint32 {
	if s.retries == nil {
		return 1
	}
	return *s.retries
}

// interval are the bounds of the pauses as Envoy takes them: a missing base is
// Envoy's own, and the longest pause is at least the base.
func (s shared) interval() (base, longest time.Duration) {
	base = time.Duration(baseInterval)
	if s.base != nil {
		base = time.Duration(*s.base)
	}
	longest = 10 * base
	if s.max != nil {
		longest = max(base, time.Duration(*s.max))
	}
	return base, longest
}
