package filters

import (
	"strconv"
	"strings"

	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	corsv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/cors/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/matchers"
)

const corsFilter = "weft.cors"

// CORS is in the connection managers of all outbounds, and acts where a route says
// so. It comes first: a preflight has no credentials and counts for no limit, and scripts
// may read what is answered over a limit.
func CORS() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: corsFilter, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&corsv3.Cors{})}}
}

// AddCORS lets scripts of other origins ask. Where a route answers by itself Envoy
// passes the filter by.
func AddCORS(out *routev3.Route, filters []route.Filter) {
	c := route.CORSOf(filters)
	if c == nil || out.GetRoute() == nil {
		return
	}
	policy := &corsv3.CorsPolicy{
		AllowMethods: strings.Join(c.Methods, ", "), AllowHeaders: strings.Join(c.Headers, ", "), ExposeHeaders: strings.Join(c.Expose, ", "),
		ForwardNotMatchingPreflights: wrapperspb.Bool(false),
	}
	if c.MaxAge != nil {
		policy.MaxAge = strconv.FormatUint(uint64(*c.MaxAge), 10)
	}
	if c.Credentials {
		policy.AllowCredentials = wrapperspb.Bool(true)
	}
	for i := range c.Origins {
		policy.AllowOriginStringMatch = append(policy.AllowOriginStringMatch, matchers.Text(&c.Origins[i].Is))
	}
	envoy.Configure(&out.TypedPerFilterConfig, corsFilter, policy)
}
