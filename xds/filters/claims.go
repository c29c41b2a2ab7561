package filters

import (
	_ "embed"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	luav3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/lua/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"

	"github.com/weftmesh/weft/resolve/effective"
	"github.com/weftmesh/weft/route/match"
	"github.com/weftmesh/weft/xds/envoy"
)

const claimsFilter = "weft.claims"

// ReadClaims is the script that reads them. It is the same everywhere: it has no
// word of a document in it.
//
//go:embed claims.lua
var ReadClaims string

// ClaimsReader is in the connection managers of all hosts, without a script: that is
// in the virtual hosts that need it, so that a route asks for claims without a new
// listener.
func ClaimsReader() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: claimsFilter, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&luav3.Lua{StatPrefix: "claims"})}}
}

// WithClaims has the host read the claims of tokens if a route of t asks for one.
// Envoy looks for the script in the route that a request has before its claims are
// known; a host always has one, for what nothing matches has an answer too.
func WithClaims(host *routev3.VirtualHost, t *effective.Table) {
	for _, r := range t.Routes {
		if r.Match.Count(match.OnClaim) > 0 {
			envoy.Configure(&host.TypedPerFilterConfig, claimsFilter, &luav3.LuaPerRoute{Override: &luav3.LuaPerRoute_SourceCode{
				SourceCode: &corev3.DataSource{Specifier: &corev3.DataSource_InlineString{InlineString: ReadClaims}}}})
			return
		}
	}
}
