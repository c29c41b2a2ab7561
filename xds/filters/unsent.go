package filters

import (
	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/route"
)

// MarkUnsent marks what a sidecar answers by itself because there is no connection to its workload,
// by Envoy's response flags: UF, upstream connection failure, and UH, no healthy upstream. A
// connection that breaks after it was made has another one, for something may have been sent by it.
func MarkUnsent() *hcmv3.LocalReplyConfig {
	return &hcmv3.LocalReplyConfig{Mappers: []*hcmv3.ResponseMapper{{
		Filter: &accesslogv3.AccessLogFilter{FilterSpecifier: &accesslogv3.AccessLogFilter_ResponseFlagFilter{
			ResponseFlagFilter: &accesslogv3.ResponseFlagFilter{Flags: []string{"UF", "UH"}},
		}},
		HeadersToAdd: []*corev3.HeaderValueOption{{
			Header:       &corev3.HeaderValue{Key: route.UnsentHeader, Value: "true"},
			AppendAction: corev3.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD,
		}},
	}}}
}

// RepeatUnsent has a policy repeat what a sidecar marks so.
func RepeatUnsent(p *routev3.RetryPolicy) {
	p.RetriableHeaders = append(p.RetriableHeaders, &routev3.HeaderMatcher{
		Name: route.UnsentHeader, HeaderMatchSpecifier: &routev3.HeaderMatcher_PresentMatch{PresentMatch: true},
	})
}
