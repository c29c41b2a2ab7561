package ratelimit

import (
	"math"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	metadatav3 "github.com/envoyproxy/go-control-plane/envoy/type/metadata/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/sim/buckets"
	"github.com/weftmesh/weft/xds/envoy"
)

// The metadata of a route that names the item whose bucket it takes tokens from.
const (
	itemMetadata  = "weft.limit"
	itemField     = "item"
	descriptorKey = "weft"
)

// WriteHost puts the buckets that several routes share into the virtual host, one
// for each item, and names the item in each of those routes. A configuration in a
// route is a bucket of that route alone.
func (c *Conf) WriteHost(host *routev3.VirtualHost, routes []envoy.HostRoute) {
	limits := make([]buckets.Limited, len(routes))
	for i, r := range routes {
		limits[i], _ = buckets.LimitedBy(r.Policy) // nothing for one without
	}
	var config *httplimitv3.LocalRateLimit
	known := map[string]bool{}
	for i, shared := range buckets.Shared(limits) {
		if !shared {
			continue
		}
		h, item := routes[i].Policy.Conf.(*Conf).http(), limits[i].Item
		if config == nil {
			config = h.shared()
		}
		if !known[item] {
			known[item] = true
			config.Descriptors = append(config.Descriptors, &commonv3.LocalRateLimitDescriptor{
				Entries:     []*commonv3.RateLimitDescriptor_Entry{{Key: descriptorKey, Value: item}},
				TokenBucket: h.RequestRate.bucket(),
			})
		}
		takeFrom(routes[i].Route, item)
	}
	if config == nil {
		return
	}
	envoy.Configure(&host.TypedPerFilterConfig, httpFilter, config)
}

// shared is what h configures, without a bucket that ever runs dry: a request of a
// route that names no item takes its token from there.
func (h *HTTP) shared() *httplimitv3.LocalRateLimit {
	out := h.limit()
	out.TokenBucket = &typev3.TokenBucket{
		MaxTokens: math.MaxUint32, TokensPerFill: wrapperspb.UInt32(math.MaxUint32), FillInterval: durationpb.New(time.Second),
	}
	out.AlwaysConsumeDefaultTokenBucket = wrapperspb.Bool(false)
	out.RateLimits = []*routev3.RateLimit{{Actions: []*routev3.RateLimit_Action{{
		ActionSpecifier: &routev3.RateLimit_Action_Metadata{Metadata: &routev3.RateLimit_Action_MetaData{
			DescriptorKey: descriptorKey,
			Source:        routev3.RateLimit_Action_MetaData_ROUTE_ENTRY,
			MetadataKey: &metadatav3.MetadataKey{
				Key:  itemMetadata,
				Path: []*metadatav3.MetadataKey_PathSegment{{Segment: &metadatav3.MetadataKey_PathSegment_Key{Key: itemField}}},
			},
		}},
	}}}}
	return out
}

// takeFrom makes a route take its tokens from the bucket of an item.
func takeFrom(r *routev3.Route, item string) {
	delete(r.TypedPerFilterConfig, httpFilter)
	if r.Metadata == nil {
		r.Metadata = &corev3.Metadata{}
	}
	if r.Metadata.FilterMetadata == nil {
		r.Metadata.FilterMetadata = map[string]*structpb.Struct{}
	}
	r.Metadata.FilterMetadata[itemMetadata] = &structpb.Struct{Fields: map[string]*structpb.Value{itemField: structpb.NewStringValue(item)}}
}
