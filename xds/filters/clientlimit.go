package filters

import (
	"math"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
)

const (
	clientFilter = "weft.clients"
	clientStat   = "client_rate_limit"
)

// ClientLimiter is in the connection managers of all hosts, without a limit: those
// are in the routes. It is a filter of its own beside that of MeshRateLimit, whose
// bucket is another.
func ClientLimiter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: clientFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&httplimitv3.LocalRateLimit{StatPrefix: clientStat})}}
}

// LimitClients gives the route a bucket for each value that the headers of its limit
// have: a descriptor without a value stands for any. A request without one of them
// has none, and takes from a bucket that does not run dry.
func LimitClients(out *routev3.Route, filters []route.Filter) {
	for i := range filters {
		l := filters[i].ClientLimit
		if l == nil {
			continue
		}
		descriptor := &commonv3.LocalRateLimitDescriptor{TokenBucket: bucket(l.Requests, time.Duration(l.Interval))}
		var actions []*routev3.RateLimit_Action
		for _, name := range l.Headers {
			descriptor.Entries = append(descriptor.Entries, &commonv3.RateLimitDescriptor_Entry{Key: name})
			actions = append(actions, &routev3.RateLimit_Action{ActionSpecifier: &routev3.RateLimit_Action_RequestHeaders_{
				RequestHeaders: &routev3.RateLimit_Action_RequestHeaders{HeaderName: name, DescriptorKey: name}}})
		}
		always := &corev3.RuntimeFractionalPercent{DefaultValue: &typev3.FractionalPercent{Numerator: 100, Denominator: typev3.FractionalPercent_HUNDRED}}
		envoy.Configure(&out.TypedPerFilterConfig, clientFilter, &httplimitv3.LocalRateLimit{
			StatPrefix: clientStat, TokenBucket: bucket(math.MaxUint32, time.Second), FilterEnabled: always, FilterEnforced: always,
			Descriptors: []*commonv3.LocalRateLimitDescriptor{descriptor}, RateLimits: []*routev3.RateLimit{{Actions: actions}},
			AlwaysConsumeDefaultTokenBucket: wrapperspb.Bool(false), MaxDynamicDescriptors: wrapperspb.UInt32(route.MaxClients),
		})
	}
}

func bucket(tokens uint32, interval time.Duration) *typev3.TokenBucket {
	return &typev3.TokenBucket{MaxTokens: tokens, TokensPerFill: wrapperspb.UInt32(tokens), FillInterval: durationpb.New(interval)}
}
