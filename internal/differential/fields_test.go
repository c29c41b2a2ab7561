package differential

import (
	"fmt"
	"math"
	"slices"
	"strings"

	httplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/local_ratelimit/v3"
	tcplimitv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/local_ratelimit/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/sim"
)

// field is one field of a policy: where it stands in Envoy, in the text that the
// value of explain has there, and what stands there without it.
type field struct {
	kind, name string
	ofRoute    bool
	there      func(envoyPlace) string
	without    string
	// as is the value of explain as it stands there, where that is not its text.
	as func(v sim.Policy, value any) string
	// asWhole is what stands there by all that explain says of the policy, where it
	// does not depend on this field alone.
	asWhole func(v sim.Policy) string
}

func duration(d *durationpb.Duration, without string) string {
	if d == nil {
		return without
	}
	return d.AsDuration().String()
}

const unset = "nothing"

// fields are those of all kinds that explain can say.
var fields = slices.Concat(timeoutFields, limitFields, retryFields("http"), retryFields("grpc"), hostFields, tcpFields, telemetryFields, breakerFields, probeFields, balanceFields, faultFields)

var timeoutFields = []field{
	{kind: "MeshTimeout", name: "http.requestTimeout", ofRoute: true, there: func(p envoyPlace) string { return duration(p.route.GetRoute().GetTimeout(), "0s") }, without: "0s"},
	{kind: "MeshTimeout", name: "http.streamIdleTimeout", ofRoute: true, there: func(p envoyPlace) string { return duration(p.route.GetRoute().GetIdleTimeout(), unset) }, without: unset},
	{kind: "MeshTimeout", name: "connectionTimeout", ofRoute: false, there: func(p envoyPlace) string { return duration(p.cluster.ConnectTimeout, unset) }, without: "5s"},
	{kind: "MeshTimeout", name: "idleTimeout", ofRoute: false, there: func(p envoyPlace) string {
		if p.options == nil {
			return duration(p.bytes.GetIdleTimeout(), unset)
		}
		return duration(p.options.GetCommonHttpProtocolOptions().GetIdleTimeout(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.maxStreamDuration", ofRoute: false, there: func(p envoyPlace) string {
		return duration(p.options.GetCommonHttpProtocolOptions().GetMaxStreamDuration(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.maxConnectionDuration", ofRoute: false, there: func(p envoyPlace) string {
		return duration(p.options.GetCommonHttpProtocolOptions().GetMaxConnectionDuration(), unset)
	}, without: unset},
	{kind: "MeshTimeout", name: "http.requestHeadersTimeout", ofRoute: false, there: func(p envoyPlace) string { return duration(p.manager.GetRequestHeadersTimeout(), unset) }, without: unset},
}

var limitFields = []field{
	{kind: "MeshRateLimit", name: "local.http.requestRate", ofRoute: true, there: func(p envoyPlace) string {
		_, b := p.bucket()
		return rate(b)
	}, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.status", ofRoute: true, there: func(p envoyPlace) string {
		if l, _ := p.bucket(); l.GetStatus() != nil {
			return fmt.Sprint(int(l.GetStatus().GetCode()))
		}
		return unset
	}, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.headers.set", ofRoute: true, there: func(p envoyPlace) string { return p.limitHeaders("OVERWRITE_IF_EXISTS_OR_ADD") }, without: unset},
	{kind: "MeshRateLimit", name: "local.http.onRateLimit.headers.add", ofRoute: true, there: func(p envoyPlace) string { return p.limitHeaders("APPEND_IF_EXISTS_OR_ADD") }, without: unset},
	{kind: "MeshRateLimit", name: "local.tcp.connectionRate", ofRoute: false, there: func(p envoyPlace) string {
		return rate(p.connectionLimit().GetTokenBucket())
	}, without: unset},
	{kind: "MeshRateLimit", name: "local.http.disabled", ofRoute: true, there: func(p envoyPlace) string {
		_, b := p.bucket()
		return fmt.Sprint(b == nil)
	}, asWhole: func(v sim.Policy) string { return limitless(v, "local.http", "requestRate") }},
	{kind: "MeshRateLimit", name: "local.tcp.disabled", ofRoute: false, there: func(p envoyPlace) string {
		return fmt.Sprint(p.connectionLimit() == nil)
	}, asWhole: func(v sim.Policy) string { return limitless(v, "local.tcp", "connectionRate") }},
}

// limitless reports whether a policy sets no limit in a block: it is switched off,
// idle, or without a rate.
func limitless(v sim.Policy, block, rate string) string {
	set := last(v, block+"."+rate) != nil && !slices.Contains(v.Idle, block+"."+rate)
	return fmt.Sprint(!set || plain(last(v, block+".disabled")) == "true")
}

func rate(b *typev3.TokenBucket) string {
	if b == nil {
		return unset
	}
	return fmt.Sprintf(`{"num":%d,"interval":%q}`, b.MaxTokens, b.FillInterval.AsDuration())
}

// limitHeaders are those of an answer over the limit, as a document writes them.
func (p envoyPlace) limitHeaders(action string) string {
	l, _ := p.bucket()
	for _, h := range l.GetResponseHeadersToAdd() {
		if h.AppendAction.String() == action { // the draws have one of each
			return fmt.Sprintf(`[{"name":%q,"value":%q}]`, h.Header.Key, strings.ReplaceAll(h.Header.Value, "%%", "%"))
		}
	}
	return unset
}

// connectionLimit is the filter that limits new connections; nil where there is none.
func (p envoyPlace) connectionLimit() *tcplimitv3.LocalRateLimit {
	for _, f := range p.listener.FilterChains[0].Filters {
		l := &tcplimitv3.LocalRateLimit{}
		if f.GetTypedConfig().UnmarshalTo(l) == nil {
			return l
		}
	}
	return nil
}

// bucket is the filter's configuration for a route, and the bucket from which its
// requests take their tokens.
func (p envoyPlace) bucket() (*httplimitv3.LocalRateLimit, *typev3.TokenBucket) {
	const filter = "envoy.filters.http.local_ratelimit"
	l := &httplimitv3.LocalRateLimit{}
	if a := p.route.GetTypedPerFilterConfig()[filter]; a != nil && a.UnmarshalTo(l) == nil {
		return l, l.TokenBucket
	}
	item := p.route.GetMetadata().GetFilterMetadata()["weft.limit"].GetFields()["item"].GetStringValue()
	a := p.host.GetTypedPerFilterConfig()[filter]
	if item == "" || a == nil || a.UnmarshalTo(l) != nil || l.TokenBucket.GetMaxTokens() != math.MaxUint32 {
		return nil, nil
	}
	for _, d := range l.Descriptors {
		if d.Entries[0].Value == item {
			return l, d.TokenBucket
		}
	}
	return nil, nil
}
