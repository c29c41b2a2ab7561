package faultinjection

import (
	"slices"
	"strconv"
	"strings"
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	tcpproxyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/tcp_proxy/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/policies"
	"github.com/weftmesh/weft/xds/envoy"
)

const (
	prefix = "weft.fault."
	// everywhere is how many filters are in each connection manager, so that so many faults need no other one.
	everywhere = 4
)

// name is that of the filter of fault j.
func name(j int) string { return prefix + strconv.Itoa(j) }

// filter injects nothing by itself, and requests pass it by unless their route, or its host, configures it.
func filter(j int) *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: name(j), Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&faultv3.HTTPFault{})}}
}

// LastFilters are those that most faults need.
func (c *Conf) LastFilters() []*hcmv3.HttpFilter {
	var out []*hcmv3.HttpFilter
	for j := range everywhere {
		out = append(out, filter(j))
	}
	return out
}

// WriteRoute configures a filter for each fault. Routes that redirect or answer by themselves have faults too
// (spec/kinds.md F8).
func (c *Conf) WriteRoute(r *routev3.Route, _ envoy.Place) {
	for j := range c.HTTP {
		if x := c.HTTP[j].config(j); x != nil {
			envoy.Configure(&r.TypedPerFilterConfig, name(j), x)
		}
	}
}

// WriteHost switches on for all routes of the host what one of them needs. Envoy decides which filters a request meets
// by the route that it has before its claims are known.
func (c *Conf) WriteHost(host *routev3.VirtualHost, routes []envoy.HostRoute) {
	for _, r := range routes {
		for filter := range r.Route.TypedPerFilterConfig {
			if strings.HasPrefix(filter, prefix) && host.TypedPerFilterConfig[filter] == nil {
				envoy.Configure(&host.TypedPerFilterConfig, filter, &faultv3.HTTPFault{})
			}
		}
	}
}

// WriteManager adds the filters of faults beyond those which are there.
func (c *Conf) WriteManager(m *hcmv3.HttpConnectionManager, _ envoy.Place) {
	for j := everywhere; j < len(c.HTTP); j++ {
		if c.HTTP[j].config(j) == nil {
			continue
		}
		i := slices.IndexFunc(m.HttpFilters, func(f *hcmv3.HttpFilter) bool { return f.Name == envoy.RouterFilter || number(f.Name) >= j })
		switch {
		case i < 0:
			m.HttpFilters = append(m.HttpFilters, filter(j))
		case m.HttpFilters[i].Name != name(j):
			m.HttpFilters = slices.Insert(m.HttpFilters, i, filter(j))
		}
	}
}

// number is the fault that a filter is for; below 0 for other filters.
func number(filter string) int {
	text, ok := strings.CutPrefix(filter, prefix)
	if n, err := strconv.Atoi(text); ok && err == nil {
		return n
	}
	return -1
}

// WritePartOfManager is the same for what routes, or some callers, have.
func (c *Conf) WritePartOfManager(m *hcmv3.HttpConnectionManager, at envoy.Place) {
	c.WriteManager(m, at)
}

// WritePartOfTCP writes nothing: connections have no faults.
func (c *Conf) WritePartOfTCP(*tcpproxyv3.TcpProxy, envoy.Place) {}

// config is what a route says to filter j; nil where nothing is ever injected. Its shares can be changed at run time by
// keys of its own. It counts nothing by a name that a client may write (x-envoy-downstream-service-cluster).
func (x *Fault) config(j int) *faultv3.HTTPFault {
	out := &faultv3.HTTPFault{DisableDownstreamClusterStats: true}
	key := name(j) + "."
	any := false
	if a := x.Abort; a != nil && some(a.Percentage) {
		any = true
		out.Abort = &faultv3.FaultAbort{ErrorType: &faultv3.FaultAbort_HttpStatus{HttpStatus: *a.HTTPStatus}, Percentage: envoy.Fraction(a.Percentage)}
		out.AbortPercentRuntime, out.AbortHttpStatusRuntime = key+"abort_percent", key+"abort_http_status"
	}
	if d := x.Delay; d != nil && some(d.Percentage) {
		any = true
		out.Delay = &commonfaultv3.FaultDelay{
			FaultDelaySecifier: &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Duration(*d.Value))}, Percentage: envoy.Fraction(d.Percentage),
		}
		out.DelayPercentRuntime, out.DelayDurationRuntime = key+"delay_percent", key+"delay_duration_ms"
	}
	if b := x.ResponseBandwidth; b != nil && some(b.Percentage) {
		any = true
		out.ResponseRateLimit = &commonfaultv3.FaultRateLimit{
			LimitType:  &commonfaultv3.FaultRateLimit_FixedLimit_{FixedLimit: &commonfaultv3.FaultRateLimit_FixedLimit{LimitKbps: b.Limit.kib()}},
			Percentage: envoy.Fraction(b.Percentage),
		}
		out.ResponseRateLimitPercentRuntime = key + "response_rate_limit_percent"
	}
	if !any {
		return nil
	}
	return out
}

// some reports whether a share is above zero.
func some(p *policies.Percentage) bool {
	n, _ := p.Millionths()
	return n > 0
}
