package filters

import (
	"time"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonfaultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/common/fault/v3"
	faultv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/fault/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
)

const delayFilter = "weft.delay"

// Delayer is in the connection managers of all hosts, without a delay: those are in the
// routes. A filter that only a route switches on would be passed where claims choose it.
func Delayer() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: delayFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&faultv3.HTTPFault{})}}
}

// Delay makes the requests of a route wait, and each of them once: a retry does not.
func Delay(out *routev3.Route, filters []route.Filter) {
	d := route.DelayOf(filters)
	if d <= 0 {
		return
	}
	envoy.Configure(&out.TypedPerFilterConfig, delayFilter, &faultv3.HTTPFault{Delay: &commonfaultv3.FaultDelay{
		FaultDelaySecifier: &commonfaultv3.FaultDelay_FixedDelay{FixedDelay: durationpb.New(time.Duration(d))},
		Percentage:         &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED},
	}})
}
