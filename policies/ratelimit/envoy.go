package ratelimit

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/xds/envoy"
)

// Names by which Envoy finds the filters and their statistics.
const (
	httpFilter = "envoy.filters.http.local_ratelimit"
	tcpFilter  = "envoy.extensions.filters.network.local_ratelimit.v3.LocalRateLimit"
	httpStat   = "rate_limit"
	tcpStat    = "tcp_rate_limit"
)

// HTTPFilters is the filter that the routes' buckets need. It has no bucket of
// its own, so a route without one is not limited.
func (c *Conf) HTTPFilters() []*hcmv3.HttpFilter {
	return []*hcmv3.HttpFilter{{
		Name: httpFilter,
		ConfigType: &hcmv3.HttpFilter_TypedConfig{
			TypedConfig: envoy.Pack(&httplimitv3.LocalRateLimit{StatPrefix: httpStat}),
		},
	}}
}

// WriteRoute gives the route a bucket of its own, unless WriteHost finds others
// to share it with. Routes that redirect or answer by themselves are limited too.
// A bucket that stands in the route already stays.
func (c *Conf) WriteRoute(r *routev3.Route, _ envoy.Place) {
	h := c.http()
	if h == nil || r.TypedPerFilterConfig[httpFilter] != nil {
		return
	}
	envoy.Configure(&r.TypedPerFilterConfig, httpFilter, h.limit())
}

// limit is the configuration of the filter.
func (h *HTTP) limit() *httplimitv3.LocalRateLimit {
	limit := &httplimitv3.LocalRateLimit{
		StatPrefix:     httpStat,
		TokenBucket:    h.RequestRate.bucket(),
		FilterEnabled:  always("local_rate_limit_enabled"),
		FilterEnforced: always("local_rate_limit_enforced"),
	}
	if on := h.OnRateLimit; on != nil && on.Status != nil {
		limit.Status = &typev3.HttpStatus{Code: typev3.StatusCode(*on.Status)}
	}
	set, add := h.headers()
	for _, v := range add {
		limit.ResponseHeadersToAdd = append(limit.ResponseHeadersToAdd,
			envoy.HeaderOption(v, corev3.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD))
	}
	for _, v := range set {
		limit.ResponseHeadersToAdd = append(limit.ResponseHeadersToAdd,
			envoy.HeaderOption(v, corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD))
	}
	return limit
}

// NetworkFilters is the bucket of new connections.
func (c *Conf) NetworkFilters(envoy.Place) []*listenerv3.Filter {
	if c.Local == nil || c.Local.TCP == nil || c.Local.TCP.ConnectionRate == nil || isTrue(c.Local.TCP.Disabled) {
		return nil
	}
	return []*listenerv3.Filter{{
		Name: tcpFilter,
		ConfigType: &listenerv3.Filter_TypedConfig{
			TypedConfig: envoy.Pack(&tcplimitv3.LocalRateLimit{
				StatPrefix:  tcpStat,
				TokenBucket: c.Local.TCP.ConnectionRate.bucket(),
			}),
		},
	}}
}

func (r *Rate) bucket() *typev3.TokenBucket {
	return &typev3.TokenBucket{
		MaxTokens:     *r.Num + r.burst(),
		TokensPerFill: wrapperspb.UInt32(*r.Num),
		FillInterval:  envoy.Duration(r.Interval),
	}
}

// always is a share of all requests that an operator can lower at run time.
func always(key string) *corev3.RuntimeFractionalPercent {
	return &corev3.RuntimeFractionalPercent{
		DefaultValue: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
		RuntimeKey:   key,
	}
}
