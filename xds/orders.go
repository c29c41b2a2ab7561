package xds

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"
)

// orders are the request headers by which a caller that Envoy takes for an
// internal one overrides retries and timeouts. Envoy judges that by
// x-forwarded-for, which every caller may write, so they go before it looks.
var orders = []string{
	"x-envoy-expected-rq-timeout-ms", "x-envoy-hedge-on-per-try-timeout", "x-envoy-max-retries", "x-envoy-retriable-header-names",
	"x-envoy-retriable-status-codes", "x-envoy-retry-grpc-on", "x-envoy-retry-on", "x-envoy-upstream-alt-stat-name",
	"x-envoy-upstream-rq-per-try-timeout-ms", "x-envoy-upstream-rq-timeout-alt-response", "x-envoy-upstream-rq-timeout-ms",
	"x-envoy-upstream-stream-duration-ms",
}

// withoutOrders makes a connection manager forget them.
func withoutOrders() *corev3.TypedExtensionConfig {
	m := &earlyv3.HeaderMutation{}
	for _, name := range orders {
		m.Mutations = append(m.Mutations, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	return &corev3.TypedExtensionConfig{Name: "envoy.http.early_header_mutation.header_mutation", TypedConfig: Pack(m)}
}
