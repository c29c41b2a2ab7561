// Package filters has one HTTP filter in each file: as it stands in connection managers, and what a
// route or a virtual host says to it.
package filters

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	authzv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	typev3 "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/weftmesh/weft/api"
	"github.com/weftmesh/weft/api/redact"
	"github.com/weftmesh/weft/route"
	"github.com/weftmesh/weft/xds/envoy"
	"github.com/weftmesh/weft/xds/naming"
)

const (
	AuthorizationName = "weft.authorization"
	// AuthorizationTimeout is how long the service has to answer.
	AuthorizationTimeout = 2 * time.Second
	// authorizationFailed is what a request is answered where the service does not
	// answer: another status than that of what it refuses.
	authorizationFailed = typev3.StatusCode_ServiceUnavailable
)

// ExtAuthz is where sidecars find the authorization service: one that speaks Envoy's
// envoy.service.auth.v3 over gRPC without TLS.
type ExtAuthz struct {
	Host string
	Port uint32
}

// ParseAuthorizer reads grpc://HOST:PORT; nil of an empty text: there is no service.
func ParseAuthorizer(text string) (*ExtAuthz, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "grpc" || u.Host == "" || "grpc://"+u.Host != text {
		return nil, fmt.Errorf("%q is no address of an authorization service; write grpc://HOST:PORT", redact.Clip(text))
	}
	host, port, err := net.SplitHostPort(u.Host)
	n, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || bad != nil || n == 0:
		return nil, fmt.Errorf("%q has no port; write grpc://HOST:PORT", redact.Clip(text))
	case !envoy.IsIP(host) && api.ValidateHostname("", host) != nil:
		return nil, fmt.Errorf("%q has no host that sidecars can find; write an IP address or a name in lower case", redact.Clip(text))
	}
	return &ExtAuthz{host, uint32(n)}, nil
}

// AuthorizationFilter is in the connection managers of all hosts, also where there is no
// service: it acts only where a virtual host says so, so that the first route that asks
// changes no listener, and a route that asks is never open for want of the filter.
func AuthorizationFilter() *hcmv3.HttpFilter {
	return &hcmv3.HttpFilter{Name: AuthorizationName, Disabled: true, ConfigType: &hcmv3.HttpFilter_TypedConfig{TypedConfig: envoy.Pack(&authzv3.ExtAuthz{
		Services: &authzv3.ExtAuthz_GrpcService{GrpcService: &corev3.GrpcService{
			TargetSpecifier: &corev3.GrpcService_EnvoyGrpc_{EnvoyGrpc: &corev3.GrpcService_EnvoyGrpc{ClusterName: naming.Authorization}},
			Timeout:         durationpb.New(AuthorizationTimeout),
		}},
		TransportApiVersion: corev3.ApiVersion_V3,
		StatusOnError:       &typev3.HttpStatus{Code: authorizationFailed},
	})}}
}

// Authorize has out ask the service what the filters of its rule want.
func Authorize(out *routev3.Route, filters []route.Filter) {
	list := route.Authorizations(filters)
	if len(list) == 0 {
		return
	}
	envoy.Configure(&out.TypedPerFilterConfig, AuthorizationName, &authzv3.ExtAuthzPerRoute{Override: &authzv3.ExtAuthzPerRoute_CheckSettings{
		CheckSettings: &authzv3.CheckSettings{ContextExtensions: questions(list)}}})
}

// questions are what the service is asked: of one check filter is its name, args the
// JSON array of its arguments. Of several the names are joined by arrows, and args is
// the array of their arrays: a service that knows single names alone knows none of these,
// and lets nothing pass for having read the first.
func questions(list []*route.Authorization) map[string]string {
	names, args := make([]string, len(list)), make([][]string, len(list))
	for i, a := range list {
		names[i], args[i] = a.Name, append([]string{}, a.Args...)
	}
	var all any = args
	if len(list) == 1 {
		all = args[0]
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic(err) // of texts there is none
	}
	return map[string]string{"filter": strings.Join(names, " -> "), "args": string(text)}
}

// WithAuthorization lets the routes of the host ask, if one does. Envoy decides which
// filters a request meets by the route that it has before its claims are known: so the
// filter is on for all routes of the host, and asks nothing where no route says what.
func WithAuthorization(host *routev3.VirtualHost) {
	for _, r := range host.Routes {
		if r.TypedPerFilterConfig[AuthorizationName] == nil {
			continue
		}
		envoy.Configure(&host.TypedPerFilterConfig, AuthorizationName, &authzv3.ExtAuthzPerRoute{Override: &authzv3.ExtAuthzPerRoute_Disabled{Disabled: true}})
		return
	}
}
