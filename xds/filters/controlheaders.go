package filters

import (
	mutationv3 "github.com/envoyproxy/go-control-plane/envoy/config/common/mutation_rules/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	earlyv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/http/early_header_mutation/header_mutation/v3"

	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

// WithoutControlHeaders makes a connection manager forget match.ControlHeaders. Envoy
// takes them from a caller that it believes to be an internal one, and judges that
// by x-forwarded-for, which every caller may write; so they go before it looks.
func WithoutControlHeaders() *corev3.TypedExtensionConfig {
	m := &earlyv3.HeaderMutation{}
	for _, name := range match.ControlHeaders {
		m.Mutations = append(m.Mutations, &mutationv3.HeaderMutation{Action: &mutationv3.HeaderMutation_Remove{Remove: name}})
	}
	return &corev3.TypedExtensionConfig{Name: "envoy.http.early_header_mutation.header_mutation", TypedConfig: envoy.Pack(m)}
}
